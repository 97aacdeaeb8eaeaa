//! Detects changed tool definitions. A server may change its definitions at any time after somebody has reviewed them.

use platform::sync::Mutex;
use platform::telemetry::printable;
use plugins::offer::{PluginTool, definitions_digest};
use policy::Digest;
use runtime::imports::Offer;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Remembered tools of one server. Bounds the memory for a server that keeps inventing names of tools.
const MAX_KNOWN: usize = 4_096;

/// The definitions that a server has had since this process started, by tool name.
#[derive(Default)]
pub(crate) struct KnownDefinitions(Mutex<HashMap<String, Digest>>);

/// The digest of everything that clients see of the tools.
fn digest(tools: &[Arc<PluginTool>]) -> Digest {
    let read = Offer { tools: tools.iter().map(|tool| tool.tool.clone()).collect(), ..Offer::default() };
    let read = definitions_digest(&read);
    let passed_on: BTreeMap<_, _> = tools
        .iter()
        .filter(|tool| !tool.passed_on.is_empty())
        .map(|tool| (&*tool.name, Value::Object(tool.passed_on.clone()).to_string()))
        .collect();
    if passed_on.is_empty() {
        return read;
    }
    Digest::sha256(format!("{read}\n{passed_on:?}").as_bytes())
}

impl KnownDefinitions {
    /// Records the definitions and returns the names of tools whose definition was different before.
    fn record(&self, tools: &[Arc<PluginTool>]) -> Vec<String> {
        let mut known = self.0.lock();
        if known.len() > MAX_KNOWN {
            known.clear();
        }
        let mut changed = Vec::new();
        for tool in tools {
            let now = digest(std::slice::from_ref(tool));
            let before = known.insert(tool.tool.name.clone(), now.clone());
            if before.is_some_and(|before| before != now) {
                changed.push(tool.tool.name.clone());
            }
        }
        changed
    }

    /// Returns all tools, or none when their definitions differ from the pinned ones.
    pub(crate) fn check(
        &self,
        server: &str,
        pinned: Option<&Digest>,
        tools: Vec<Arc<PluginTool>>,
    ) -> Vec<Arc<PluginTool>> {
        let found = digest(&tools);
        for tool in self.record(&tools) {
            let tool = printable(&tool);
            tracing::warn!(server, %tool, "the tool's definition has changed since this host started; review it again");
        }
        match pinned {
            Some(pinned) if *pinned != found => {
                tracing::error!(
                    server,
                    "the server's tools are hidden, since their definitions have changed. Review them; to accept \
                     them, set `definitions = \"{found}\"` in [upstream.{server}]"
                );
                Vec::new()
            }
            Some(_) => tools,
            None => {
                tracing::debug!(server, "`definitions = \"{found}\"` in [upstream.{server}] would pin its tools");
                tools
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::{Execution, Tool};

    fn tool(name: &str, description: &str) -> Arc<PluginTool> {
        let input_schema = r#"{"type":"object"}"#.to_owned();
        let (name, description, annotations) = (name.to_owned(), description.to_owned(), Default::default());
        let (title, output_schema, execution, icons) = (None, None, Execution::Inline, vec![]);
        let tool = Tool { name, title, description, input_schema, output_schema, annotations, execution, icons };
        PluginTool::new(tool, "server.tool".into())
    }

    #[test]
    fn what_is_passed_on_is_part_of_the_definition() {
        let with = |meta: &str| {
            let passed_on = serde_json::from_str(meta).unwrap();
            vec![PluginTool::of_server(tool("read", "Reads.").tool.clone(), "server.read".into(), passed_on, true)]
        };
        let plain = digest(&[tool("read", "Reads.")]);
        assert_eq!(digest(&with("{}")), plain);
        let one = digest(&with(r#"{"_meta":{"ui":1}}"#));
        assert!(one != plain && one != digest(&with(r#"{"_meta":{"ui":2}}"#)));
    }

    #[test]
    fn a_change_is_reported_and_hides_pinned_tools() {
        let known = KnownDefinitions::default();
        let before = vec![tool("read", "Reads."), tool("write", "Writes.")];
        assert!(known.record(&before).is_empty() && known.record(&before).is_empty());
        let after = vec![tool("read", "Reads. "), tool("write", "Writes."), tool("new", "New.")];
        assert_eq!(known.record(&after), ["read"]);
        assert!(known.record(&after).is_empty(), "reported once");
        let pin = digest(&before);
        assert_eq!(known.check("far", Some(&pin), before.clone()).len(), 2);
        assert!(known.check("far", Some(&pin), after.clone()).is_empty());
        assert_eq!(known.check("far", None, after).len(), 3);
    }
}
