//! What a client declares that may be called on a request: bounded and checked before anything trusts it.

use super::EXTENSION;
use platform::telemetry::printable;
use runtime::imports::{Execution, Schema, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::OnceLock;

/// Bytes of a declaration as JSON. Bounds what every request may make the host read and keep.
const MAX_BYTES: usize = 256 << 10;
/// Tools of one. Bounds what a plugin is shown.
const MAX_TOOLS: usize = 128;
/// Characters of a tool's name.
const MAX_NAME: usize = 128;
/// Characters of a channel's name: at least what holds 128 random bits.
const CHANNEL: std::ops::RangeInclusive<usize> = 22..=128;
/// How much of a complaint is told; it may quote the client.
const MAX_COMPLAINT: usize = 300;

/// A ceiling on one request's reverse calls that the client sets itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientLimits {
    /// How many in all.
    pub(super) calls: Option<u64>,
    /// How many at once; further ones wait.
    pub(super) parallel: Option<u64>,
    /// Bytes of one call's arguments.
    pub(super) argument_bytes: Option<u64>,
}

/// Ways to the client's tools that it can serve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Offered {
    pub(super) live: bool,
    pub(super) retry: bool,
    pub(super) request: bool,
}

/// One tool of the client's.
#[derive(Debug)]
pub(crate) struct DeclaredTool {
    pub(super) tool: Tool,
    /// What it answers is not to be passed on.
    pub(super) private: bool,
    /// How often it may be called on one request.
    pub(super) calls: Option<u64>,
    schema: OnceLock<Result<Schema, String>>,
}

impl DeclaredTool {
    /// Whether arguments suit it; otherwise why not. The schema is compiled when it is first needed.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), String> {
        let compiled = self.schema.get_or_init(|| {
            Schema::compile(&self.tool.input_schema).map(Schema::without_document).map_err(|error| error.to_string())
        });
        match compiled {
            Ok(schema) => schema.check(arguments),
            Err(why) => Err(format!("the client's schema for them is none: {why}")),
        }
    }
}

/// A client's declaration.
#[derive(Debug)]
pub(crate) struct Declared {
    /// In the client's order.
    pub(super) tools: Vec<DeclaredTool>,
    by_name: HashMap<String, usize>,
    pub(super) lanes: Offered,
    /// The name of its open stream, for lane `live`.
    pub(super) channel: Option<String>,
    pub(super) limits: ClientLimits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    tools: Vec<WireTool>,
    lanes: Option<Vec<String>>,
    channel: Option<String>,
    #[serde(default)]
    limits: ClientLimits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTool {
    name: String,
    title: Option<String>,
    #[serde(default)]
    description: String,
    input_schema: Map<String, Value>,
    output_schema: Option<Map<String, Value>>,
    #[serde(default)]
    annotations: WireAnnotations,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    limits: WireToolLimits,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAnnotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireToolLimits {
    calls: Option<u64>,
}

impl Declared {
    /// Reads a declaration of a revision: one that does not allow calls is none, one that is malformed is refused with a
    /// sentence.
    pub(super) fn read(value: &Value, stateless: bool) -> Result<Option<Self>, String> {
        if value.get("allowServerCalls") != Some(&Value::Bool(true)) {
            return Ok(None);
        }
        Self::checked(value, stateless).map(Some).map_err(|why| {
            let why: String = printable(&why).chars().take(MAX_COMPLAINT).collect();
            format!("the client's declaration of `{EXTENSION}` is malformed: {why}")
        })
    }

    fn checked(value: &Value, stateless: bool) -> Result<Self, String> {
        if is_longer(value, MAX_BYTES) {
            return Err(format!("it is longer than {MAX_BYTES} bytes of JSON"));
        }
        let wire = Wire::deserialize(value).map_err(|error| error.to_string())?;
        if wire.tools.len() > MAX_TOOLS {
            return Err(format!("it has {} tools, more than {MAX_TOOLS}", wire.tools.len()));
        }
        if wire.limits.parallel == Some(0) {
            return Err("`limits.parallel` must be at least 1".into());
        }
        if let Some(channel) = &wire.channel
            && !is_channel(channel)
        {
            return Err(format!("`channel` must be {CHANNEL:?} characters of `A-Z a-z 0-9 - _`"));
        }
        let (mut tools, mut by_name) = (Vec::with_capacity(wire.tools.len()), HashMap::new());
        for tool in wire.tools {
            let tool = tool.checked()?;
            if by_name.insert(tool.tool.name.clone(), tools.len()).is_some() {
                return Err(format!("two tools are named `{}`", tool.tool.name));
            }
            tools.push(tool);
        }
        let lanes = Offered::of(wire.lanes, stateless);
        Ok(Self { tools, by_name, lanes, channel: wire.channel, limits: wire.limits })
    }

    pub(super) fn tool(&self, name: &str) -> Option<&DeclaredTool> {
        self.by_name.get(name).map(|at| &self.tools[*at])
    }
}

impl Offered {
    /// As named; what a revision has by itself when nothing is. Names that we do not know are no harm.
    fn of(named: Option<Vec<String>>, stateless: bool) -> Self {
        match named {
            None => Self { live: false, retry: stateless, request: !stateless },
            Some(named) => {
                let has = |lane: &str| named.iter().any(|name| name == lane);
                Self { live: has("live"), retry: has("retry"), request: has("request") }
            }
        }
    }
}

impl WireTool {
    fn checked(self) -> Result<DeclaredTool, String> {
        let name = self.name;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(odd) {
            return Err(format!("`{name}` is no name of a tool: 1 to {MAX_NAME} characters without spaces"));
        }
        let hints = self.annotations;
        let annotations = ToolAnnotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        };
        let text = |schema: Map<String, Value>| Value::Object(schema).to_string();
        let tool = Tool {
            name,
            title: self.title.or(hints.title),
            description: self.description,
            input_schema: text(self.input_schema),
            output_schema: self.output_schema.map(text),
            annotations,
            execution: Execution::Inline,
            icons: vec![],
        };
        Ok(DeclaredTool { tool, private: self.private, calls: self.limits.calls, schema: OnceLock::new() })
    }
}

/// Whether this may be the name of a channel.
pub(crate) fn is_channel(name: &str) -> bool {
    CHANNEL.contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Whether a value is more than `max` bytes as JSON, without writing it down.
fn is_longer(value: &Value, max: usize) -> bool {
    struct Room(usize);
    impl Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(max), value).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    }

    fn read(value: Value) -> Result<Option<Declared>, String> {
        Declared::read(&value, true)
    }

    #[test]
    fn only_true_allows_calls() {
        for allow in [json!(null), json!(false), json!("true"), json!(1)] {
            // Whatever else is in it, even nonsense.
            assert!(read(json!({"allowServerCalls": allow, "tools": 7})).unwrap().is_none());
        }
        assert!(read(json!(true)).unwrap().is_none());
        let none = read(json!({"allowServerCalls": true, "later": {}})).unwrap().unwrap();
        assert_eq!((none.tools.len(), none.limits), (0, ClientLimits::default()));
    }

    #[test]
    fn a_declaration_is_read_whole() {
        let mut slots = tool("calendar.free_slots");
        slots["annotations"] = json!({"readOnlyHint": true, "title": "Slots"});
        slots["private"] = json!(true);
        slots["limits"] = json!({"calls": 3});
        let declared = read(json!({
            "allowServerCalls": true, "tools": [slots, tool("b")], "lanes": ["live", "warp"],
            "channel": "0123456789abcdefABCD-_", "limits": {"calls": 9, "parallel": 2, "argumentBytes": 10},
        }));
        let declared = declared.unwrap().unwrap();
        let slots = declared.tool("calendar.free_slots").unwrap();
        assert!(slots.private && slots.tool.annotations.read_only == Some(true) && declared.tool("c").is_none());
        assert_eq!((slots.calls, slots.tool.title.as_deref()), (Some(3), Some("Slots")));
        assert_eq!(declared.lanes, Offered { live: true, retry: false, request: false });
        assert_eq!(
            (declared.limits.calls, declared.limits.parallel, declared.limits.argument_bytes),
            (Some(9), Some(2), Some(10))
        );
        slots.check(&json!({"n": 1})).unwrap();
        assert!(slots.check(&json!({"n": "1"})).unwrap_err().contains("integer"));
    }

    #[test]
    fn lanes_are_those_of_the_revision_unless_named() {
        let lanes = |stateless| Declared::read(&json!({"allowServerCalls": true}), stateless).unwrap().unwrap().lanes;
        assert_eq!(lanes(true), Offered { live: false, retry: true, request: false });
        assert_eq!(lanes(false), Offered { live: false, retry: false, request: true });
    }

    #[test]
    fn what_is_malformed_is_refused_with_the_reason() {
        let many: Vec<Value> = (0..129).map(|n| tool(&format!("t{n}"))).collect();
        let mut huge = tool("huge");
        huge["description"] = "x".repeat(MAX_BYTES).into();
        let mut wrong = tool("wrong");
        wrong["inputSchema"] = json!("object");
        for (what, reason) in [
            (json!({"tools": 7}), "sequence"),
            (json!({"tools": many}), "129 tools"),
            (json!({"tools": [tool("a"), tool("a")]}), "two tools are named `a`"),
            (json!({"tools": [tool("")]}), "no name"),
            (json!({"tools": [tool("a b")]}), "no name"),
            (json!({"tools": [tool(&"x".repeat(129))]}), "no name"),
            (json!({"tools": [{"name": "a"}]}), "inputSchema"),
            (json!({"tools": [wrong]}), "map"),
            (json!({"tools": [huge]}), "longer than 262144 bytes"),
            (json!({"channel": "short"}), "`channel`"),
            (json!({"limits": {"parallel": 0}}), "at least 1"),
            (json!({"limits": {"calls": -1}}), "-1"),
        ] {
            let mut declaration = json!({"allowServerCalls": true});
            declaration.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
            let error = read(declaration).unwrap_err();
            assert!(error.contains(reason) && error.len() < 500, "{reason}: {error}");
        }
    }
}
