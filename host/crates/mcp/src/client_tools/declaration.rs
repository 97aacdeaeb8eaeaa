//! The tools that a client declares for one request or session. A declaration is bounded and checked before anything
//! else reads it.

use crate::json_size::take_json_size;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use policy::is_name;
use protocol::names::CLIENT_TOOLS;
use runtime::imports::{Execution, Schema, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Bytes of a declaration as JSON. Bounds what each request can make the host parse and keep.
const MAX_BYTES: usize = 256 << 10;
/// Tools in one declaration. Bounds what a plugin is shown.
const MAX_TOOLS: usize = 128;
/// Characters of a tool's name.
const MAX_NAME: usize = 128;
/// Characters of a channel's name: 22 are enough for 128 random bits.
const CHANNEL_NAME: std::ops::RangeInclusive<usize> = 22..=128;
/// Characters of an error message, which may quote the client.
const MAX_ERROR: usize = 300;

/// Limits that the client itself sets on the reverse calls of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientLimits {
    /// Calls in total.
    pub(crate) calls: Option<u64>,
    /// Calls at the same time; further ones wait.
    pub(crate) parallel: Option<u64>,
    /// Bytes of one call's arguments.
    pub(crate) argument_bytes: Option<u64>,
}

/// The lanes that the client can serve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LaneSupport {
    pub(crate) live: bool,
    pub(crate) retry: bool,
    pub(crate) request: bool,
}

#[derive(Debug)]
pub(crate) struct DeclaredTool {
    pub(crate) tool: Tool,
    /// Results of a private tool must not be passed on.
    pub(crate) private: bool,
    /// Calls of this tool per request.
    pub(crate) max_calls: Option<u64>,
    schema: OnceLock<Result<Schema, String>>,
}

impl DeclaredTool {
    /// Checks arguments against the input schema, which is compiled at the first check.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), String> {
        let compiled = self.schema.get_or_init(|| {
            Schema::compile(&self.tool.input_schema).map(Schema::without_document).map_err(|error| error.to_string())
        });
        match compiled {
            Ok(schema) => schema.check(arguments),
            Err(why) => Err(format!("the client's schema for them is invalid: {why}")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct ToolDeclaration {
    /// The tools, in the client's order.
    pub(crate) tools: Vec<DeclaredTool>,
    by_name: HashMap<String, usize>,
    pub(crate) lanes: LaneSupport,
    /// The name of its open channel, for lane `live`.
    pub(crate) channel: Option<String>,
    pub(crate) limits: ClientLimits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeclarationJson {
    #[serde(default)]
    tools: Vec<ToolJson>,
    lanes: Option<Vec<String>>,
    channel: Option<String>,
    #[serde(default)]
    limits: ClientLimits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolJson {
    name: String,
    title: Option<String>,
    #[serde(default)]
    description: String,
    input_schema: Map<String, Value>,
    output_schema: Option<Map<String, Value>>,
    #[serde(default)]
    annotations: AnnotationsJson,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    limits: ToolLimitsJson,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AnnotationsJson {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolLimitsJson {
    calls: Option<u64>,
}

impl ToolDeclaration {
    /// None if the client does not allow calls. `stateless` selects the lanes that a client has by default.
    pub(crate) fn parse(value: &Value, stateless: bool) -> Result<Option<Self>, String> {
        if value.get("allowServerCalls") != Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let fits = take_json_size(value, &mut { MAX_BYTES });
        let too_long = || Err(format!("it is longer than {MAX_BYTES} bytes of JSON"));
        let parsed = if fits { Self::parse_allowed(value, stateless) } else { too_long() };
        parsed.map(Some).map_err(|why| {
            let why = truncate_chars(&printable(&why), MAX_ERROR).to_owned();
            format!("the client's declaration of `{CLIENT_TOOLS}` is malformed: {why}")
        })
    }

    /// Parses a declaration that was accepted before.
    pub(super) fn from_stored(value: &Value) -> Result<Self, String> {
        Self::parse_allowed(value, true)
    }

    fn parse_allowed(value: &Value, stateless: bool) -> Result<Self, String> {
        let json = DeclarationJson::deserialize(value).map_err(|error| error.to_string())?;
        if json.tools.len() > MAX_TOOLS {
            return Err(format!("it has {} tools, more than {MAX_TOOLS}", json.tools.len()));
        }
        if json.limits.parallel == Some(0) {
            return Err("`limits.parallel` must be at least 1".into());
        }
        if let Some(channel) = &json.channel
            && !is_channel_name(channel)
        {
            return Err(format!("`channel` must be {CHANNEL_NAME:?} characters of `A-Z a-z 0-9 - _`"));
        }
        let (mut tools, mut by_name) = (Vec::with_capacity(json.tools.len()), HashMap::new());
        for tool in json.tools {
            let tool = tool.into_tool()?;
            if by_name.insert(tool.tool.name.clone(), tools.len()).is_some() {
                return Err(format!("two tools are named `{}`", tool.tool.name));
            }
            tools.push(tool);
        }
        let lanes = LaneSupport::from_names(json.lanes, stateless);
        Ok(Self { tools, by_name, lanes, channel: json.channel, limits: json.limits })
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&DeclaredTool> {
        self.by_name.get(name).map(|index| &self.tools[*index])
    }
}

/// The settings of the extension among the server's capabilities.
pub(crate) fn capability_settings() -> Map<String, Value> {
    Map::from_iter([("lanes".to_owned(), json!(["live", "retry", "request"]))])
}

impl LaneSupport {
    /// Without names, selects the lane that every client of the protocol version can serve. Ignores unknown names.
    fn from_names(names: Option<Vec<String>>, stateless: bool) -> Self {
        match names {
            None => Self { live: false, retry: stateless, request: !stateless },
            Some(names) => {
                let has = |lane: &str| names.iter().any(|name| name == lane);
                Self { live: has("live"), retry: has("retry"), request: has("request") }
            }
        }
    }
}

impl ToolJson {
    fn into_tool(self) -> Result<DeclaredTool, String> {
        let name = self.name;
        let is_invalid = |c: char| c.is_whitespace() || c.is_control();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(is_invalid) {
            return Err(format!("`{name}` is not a valid tool name: 1 to {MAX_NAME} characters without spaces"));
        }
        let hints = self.annotations;
        let annotations = ToolAnnotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        };
        let to_text = |schema: Map<String, Value>| Value::Object(schema).to_string();
        let tool = Tool {
            name,
            title: self.title.or(hints.title),
            description: self.description,
            input_schema: to_text(self.input_schema),
            output_schema: self.output_schema.map(to_text),
            annotations,
            execution: Execution::Inline,
            icons: vec![],
        };
        Ok(DeclaredTool { tool, private: self.private, max_calls: self.limits.calls, schema: OnceLock::new() })
    }
}

pub(crate) fn is_channel_name(name: &str) -> bool {
    name.len() >= *CHANNEL_NAME.start() && is_name(name, *CHANNEL_NAME.end(), "-_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    }

    fn parse(value: Value) -> Result<Option<ToolDeclaration>, String> {
        ToolDeclaration::parse(&value, true)
    }

    #[test]
    fn only_true_allows_calls() {
        for allow in [json!(null), json!(false), json!("true"), json!(1)] {
            // The rest is ignored, even if it is malformed.
            assert!(parse(json!({"allowServerCalls": allow, "tools": 7})).unwrap().is_none());
        }
        assert!(parse(json!(true)).unwrap().is_none());
        let empty = parse(json!({"allowServerCalls": true, "later": {}})).unwrap().unwrap();
        assert_eq!((empty.tools.len(), empty.limits), (0, ClientLimits::default()));
    }

    #[test]
    fn every_field_is_parsed() {
        let mut slots = tool("calendar.free_slots");
        slots["annotations"] = json!({"readOnlyHint": true, "title": "Slots"});
        slots["private"] = json!(true);
        slots["limits"] = json!({"calls": 3});
        let declaration = parse(json!({
            "allowServerCalls": true, "tools": [slots, tool("b")], "lanes": ["live", "warp"],
            "channel": "0123456789abcdefABCD-_", "limits": {"calls": 9, "parallel": 2, "argumentBytes": 10},
        }));
        let declaration = declaration.unwrap().unwrap();
        let slots = declaration.tool("calendar.free_slots").unwrap();
        assert!(slots.private && slots.tool.annotations.read_only == Some(true) && declaration.tool("c").is_none());
        assert_eq!((slots.max_calls, slots.tool.title.as_deref()), (Some(3), Some("Slots")));
        assert_eq!(declaration.lanes, LaneSupport { live: true, retry: false, request: false });
        assert_eq!(
            (declaration.limits.calls, declaration.limits.parallel, declaration.limits.argument_bytes),
            (Some(9), Some(2), Some(10))
        );
        slots.check(&json!({"n": 1})).unwrap();
        assert!(slots.check(&json!({"n": "1"})).unwrap_err().contains("integer"));
    }

    #[test]
    fn default_lanes_depend_on_the_protocol_version() {
        let allowed = json!({"allowServerCalls": true});
        let lanes = |stateless| ToolDeclaration::parse(&allowed, stateless).unwrap().unwrap().lanes;
        assert_eq!(lanes(true), LaneSupport { live: false, retry: true, request: false });
        assert_eq!(lanes(false), LaneSupport { live: false, retry: false, request: true });
    }

    #[test]
    fn malformed_declarations_are_refused_with_the_reason() {
        let many: Vec<Value> = (0..129).map(|n| tool(&format!("t{n}"))).collect();
        let mut huge = tool("huge");
        huge["description"] = "x".repeat(MAX_BYTES).into();
        let mut wrong = tool("wrong");
        wrong["inputSchema"] = json!("object");
        for (what, reason) in [
            (json!({"tools": 7}), "sequence"),
            (json!({"tools": many}), "129 tools"),
            (json!({"tools": [tool("a"), tool("a")]}), "two tools are named `a`"),
            (json!({"tools": [tool("")]}), "not a valid tool name"),
            (json!({"tools": [tool("a b")]}), "not a valid tool name"),
            (json!({"tools": [tool(&"x".repeat(129))]}), "not a valid tool name"),
            (json!({"tools": [{"name": "a"}]}), "inputSchema"),
            (json!({"tools": [wrong]}), "map"),
            (json!({"tools": [huge]}), "longer than 262144 bytes"),
            (json!({"channel": "short"}), "`channel`"),
            (json!({"limits": {"parallel": 0}}), "at least 1"),
            (json!({"limits": {"calls": -1}}), "-1"),
        ] {
            let mut declaration = json!({"allowServerCalls": true});
            declaration.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
            let error = parse(declaration).unwrap_err();
            assert!(error.contains(reason) && error.len() < 500, "{reason}: {error}");
        }
    }
}
