//! Spans as OTLP JSON, which every collector accepts at `/v1/traces`.

use super::trace::{Attribute, Span};
use serde_json::{Value, json};

pub const CONTENT_TYPE: &str = "application/json";

pub fn body(spans: &[Span]) -> Vec<u8> {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let service = [attribute("service.name", "portcullis".into()), attribute("service.version", VERSION.into())];
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": service},
        "scopeSpans": [{"scope": {"name": "portcullis", "version": VERSION}, "spans": spans}],
    }]});
    body.to_string().into_bytes()
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The OTLP codes `SPAN_KIND_INTERNAL`, `SPAN_KIND_CLIENT` and `STATUS_CODE_ERROR`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

fn span(span: &Span) -> Value {
    let why = span.failed.map(|why| attribute("error.type", why.into()));
    let known = span.attributes.iter().map(|(name, value)| attribute(name, value.clone()));
    let attributes: Vec<Value> = known.chain(why).collect();
    let mut said = json!({
        "traceId": format!("{:032x}", span.place.trace),
        "spanId": format!("{:016x}", span.place.span),
        "name": span.name,
        "kind": if span.outward { CLIENT } else { INTERNAL },
        "startTimeUnixNano": span.start.as_nanos().to_string(),
        "endTimeUnixNano": span.end.as_nanos().to_string(),
        "attributes": attributes,
    });
    if span.parent != 0 {
        said["parentSpanId"] = json!(format!("{:016x}", span.parent));
    }
    if let Some(why) = span.failed {
        said["status"] = json!({"code": ERROR, "message": why});
    }
    said
}

fn attribute(name: &str, value: Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({"stringValue": text}),
        // The JSON form of protocol buffers writes 64-bit numbers as strings.
        Attribute::Number(number) => json!({"intValue": number.to_string()}),
    };
    json!({"key": name, "value": value})
}
