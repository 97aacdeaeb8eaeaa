//! The body of a request that is served directly, borrowed from its text.

use rmcp::model::{ProtocolVersion, RequestId};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message<'a> {
    jsonrpc: &'a str,
    pub(super) id: RequestId,
    method: &'a str,
    #[serde(borrow, deserialize_with = "object")]
    pub(super) params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Option<Map<String, Value>>,
    #[serde(rename = "_meta", borrow, deserialize_with = "object")]
    pub(super) meta: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    /// Nobody reads it.
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    _client_info: Option<IgnoredAny>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", deserialize_with = "object")]
    _capabilities: NoCapabilities,
    #[serde(rename = "dev.portcullis/correlationId", default, deserialize_with = "text")]
    pub(super) correlation: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) traceparent: Option<String>,
}

/// An empty object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoCapabilities {}

/// None if the message is anything but a plain `tools/call` of 2026-07-28. Unknown fields and repeated ones make it
/// something else.
pub(super) fn parse(body: &[u8]) -> Option<Message<'_>> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let message: Message<'_> = object(&mut json).ok()?;
    json.end().ok()?;
    let is_plain = message.jsonrpc == "2.0"
        && message.method == "tools/call"
        && message.params.meta.version == ProtocolVersion::V_2026_07_28.as_str();
    is_plain.then_some(message)
}

/// Reads a text that may be left out, but not be null.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Reads a struct from an object only. What serde derives reads it from an array, too.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(fields))
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    fn message(rest: &str, params: &str, meta: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call"{rest},"params":{{"name":"a__b"{params},"_meta":{meta}}}}}"#
        )
    }

    #[test]
    fn only_the_plain_request_is_recognized() {
        let plain = message("", r#","arguments":{"n":1}"#, META);
        let parsed = parse(plain.as_bytes()).expect("plain");
        assert_eq!((parsed.id, parsed.params.name), (RequestId::Number(7), "a__b"));
        assert_eq!(parsed.params.arguments.unwrap()["n"], 1);
        let add = |field: &str| format!("{}{field}}}", &META[..META.len() - 1]);
        for meta in [
            add(r#","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}"#),
            add(r#","traceparent":"00-a-b-01","dev.portcullis/correlationId":"c\u0031""#),
        ] {
            assert!(parse(message("", "", &meta).as_bytes()).is_some(), "{meta}");
        }
        let others = [
            message(r#","extra":1"#, "", META),
            message(r#","id":8"#, "", META),
            message("", r#","name":"c""#, META),
            message("", r#","requestState":"s""#, META),
            message("", r#","inputResponses":{}"#, META),
            message("", r#","arguments":[]"#, META),
            message("", "", "[]"),
            message("", "", r#"["2026-07-28",null,{}]"#),
            message("", "", "{}"),
            message("", "", &META.replace("2026", "2025")),
            message("", "", &META.replace("{}}", r#"{"elicitation":{}}}"#)),
            message("", "", &META.replace("{}}", "[]}")),
            message("", "", &META.replace("{}}", "null}")),
            message("", "", &add(r#","progressToken":1"#)),
            message("", "", &add(r#","traceparent":1"#)),
            message("", "", &add(r#","dev.portcullis/correlationId":null"#)),
            message("", "", &add(r#","io.modelcontextprotocol/logLevel":"info""#)),
            plain.replace("tools/call", "tools/list"),
            plain.replace("2.0", "1.0"),
            plain.replace("a__b", r"a\u005fb"),
            plain.replace("7", "7.5"),
            format!("[{plain}]"),
            format!("{plain} x"),
            plain[1..].to_owned(),
            String::new(),
        ];
        for other in others {
            assert!(parse(other.as_bytes()).is_none(), "{other}");
        }
    }
}
