//! The body of a request that is served directly, borrowed from its text.

use super::unread::Unread;
use protocol::questions;
use rmcp::model::{ClientCapabilities, InputResponses, ProtocolVersion, RequestId, TASKS_EXTENSION_ID};
use runtime::imports::Abilities;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Params<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Option<Map<String, Value>>,
    /// The parked call that the request resumes.
    pub(super) request_state: Option<String>,
    /// Answers to the questions of the last round.
    pub(super) input_responses: Option<InputResponses>,
    #[serde(rename = "_meta", borrow, deserialize_with = "object")]
    pub(super) meta: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    _client_info: Option<Unread>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Map<String, Value>,
    #[serde(rename = "dev.portcullis/correlationId", default, deserialize_with = "text")]
    pub(super) correlation: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) traceparent: Option<String>,
    #[serde(rename = "dev.portcullis/usage", default)]
    pub(super) asks_usage: bool,
}

/// The prefix of the names of this host's own extensions, which change how a request is answered.
const OWN_EXTENSIONS: &str = "dev.portcullis/";

impl Meta<'_> {
    /// Whether the client follows tasks.
    pub(super) fn declares_tasks(&self) -> bool {
        let declared = self.capabilities.get("extensions").and_then(Value::as_object);
        declared.is_some_and(|declared| declared.contains_key(TASKS_EXTENSION_ID))
    }

    /// What the client may be asked for, read in the same way as by rmcp. None if the ordinary way has to read the declaration.
    pub(super) fn abilities(&self) -> Option<Abilities> {
        let Self { capabilities, .. } = self;
        if capabilities.is_empty() {
            return Some(Abilities::default());
        }
        let declares_own = ["extensions", "experimental"]
            .into_iter()
            .filter_map(|field| capabilities.get(field)?.as_object())
            .any(|declared| declared.keys().any(|name| name.starts_with(OWN_EXTENSIONS)));
        if declares_own {
            return None;
        }
        ClientCapabilities::deserialize(capabilities).ok().as_ref().map(questions::abilities_from_capabilities)
    }
}

/// None if the message is anything but a plain `tools/call` of 2026-07-28. A message with unknown or repeated fields is not
/// plain.
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

/// Reads a struct only from an object. The code that serde derives would read it from an array, too.
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
            add(r#","traceparent":"00-a-b-01","dev.portcullis/correlationId":"c\u0031","dev.portcullis/usage":true"#),
        ] {
            let parsed = message("", r#","requestState":"s","inputResponses":{"k":7}"#, &meta);
            let Params { request_state, input_responses, .. } = parse(parsed.as_bytes()).expect(&meta).params;
            assert_eq!((request_state.as_deref(), input_responses.unwrap()["k"].as_u64()), (Some("s"), Some(7)));
        }
        let others = [
            message(r#","extra":1"#, "", META),
            message(r#","id":8"#, "", META),
            message("", r#","name":"c""#, META),
            message("", r#","requestState":1"#, META),
            message("", r#","inputResponses":[]"#, META),
            message("", r#","arguments":[]"#, META),
            message("", "", "[]"),
            message("", "", r#"["2026-07-28",null,{}]"#),
            message("", "", "{}"),
            message("", "", &META.replace("2026", "2025")),
            message("", "", &META.replace("{}}", "[]}")),
            message("", "", &META.replace("{}}", "null}")),
            message("", "", &add(r#","progressToken":1"#)),
            message("", "", &add(r#","io.modelcontextprotocol/clientInfo":{"name":"\ud800"}"#)),
            message("", "", &add(r#","traceparent":1"#)),
            message("", "", &add(r#","dev.portcullis/usage":1"#)),
            message("", "", &add(r#","dev.portcullis/correlationId":null"#)),
            message("", "", &add(r#","dev.portcullis/idempotencyKey":"k""#)),
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

    #[test]
    fn capabilities_are_read_as_rmcp_reads_them() {
        let abilities = |declared: &str| {
            let text = message("", "", &META.replace("{}}", &format!("{declared}}}")));
            parse(text.as_bytes()).and_then(|message| message.params.meta.abilities())
        };
        let (none, form) = (Abilities::default(), Abilities { form: true, ..Abilities::default() });
        let all = Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true };
        for (declared, read) in [
            ("{}", none),
            (r#"{"elicitation":null,"tasks":{"list":{}},"extensions":{"io.modelcontextprotocol/ui":{}}}"#, none),
            (r#"{"elicitation":{}}"#, form),
            (r#"{"elicitation":{"url":{}}}"#, Abilities { url: true, ..none }),
            (r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#, all),
            (r#"{"elicitation":7,"elicitation":{}}"#, form),
            (r#"{"experimental":{"a":{"b":[1]}},"elicitation":{"form":{"schemaValidation":true,"more":1}}}"#, form),
        ] {
            assert_eq!(abilities(declared), Some(read), "{declared}");
        }
        for other in [
            "[]",
            "null",
            r#"{"elicitation":true}"#,
            r#"{"elicitation":{},"elicitation":7}"#,
            r#"{"sampling":{"tools":[]}}"#,
            r#"{"roots":{"listChanged":1}}"#,
            r#"{"experimental":{"a":1}}"#,
            r#"{"extensions":{"dev.portcullis/partial-results":{}}}"#,
            r#"{"experimental":{"dev.portcullis/client-tools":{"allowServerCalls":true}}}"#,
        ] {
            assert_eq!(abilities(other), None, "{other}");
        }
    }
}
