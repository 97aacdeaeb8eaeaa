//! Whether a server still says of its tools what it said before: a server may change that at any time, after somebody
//! has looked at it.

use platform::telemetry::printable;
use plugins::registry::{PluginTool, definitions};
use policy::Digest;
use runtime::imports::Offer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tools of one server that are remembered. Bounds what a server makes us keep by naming ever new ones.
const MAX_KNOWN: usize = 4_096;

/// What a server has said since this process began.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<String, Digest>>);

fn digest(tools: &[Arc<PluginTool>]) -> Digest {
    definitions(&Offer { tools: tools.iter().map(|tool| tool.tool.clone()).collect(), ..Offer::default() })
}

impl Known {
    /// Of these tools, those which were described otherwise before.
    fn changed(&self, tools: &[Arc<PluginTool>]) -> Vec<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// What may be offered on: all of it, or nothing when the operator has pinned something else.
    pub(super) fn fit(
        &self,
        server: &str,
        pinned: Option<&Digest>,
        tools: Vec<Arc<PluginTool>>,
    ) -> Vec<Arc<PluginTool>> {
        let found = digest(&tools);
        for tool in self.changed(&tools) {
            let tool = printable(&tool);
            tracing::warn!(server, %tool, "is described otherwise than when this host began; look at it again");
        }
        match pinned {
            Some(pinned) if *pinned != found => {
                tracing::error!(
                    server,
                    "its tools are hidden: what it says of them has changed. Look at them; to accept them, set \
                     `definitions = \"{found}\"` in [upstream.{server}]"
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
    use runtime::imports::{Execution, Schema, Tool};

    fn tool(name: &str, description: &str) -> Arc<PluginTool> {
        let input_schema = r#"{"type":"object"}"#.to_owned();
        let input = Schema::compile(&input_schema).unwrap();
        let (name, description, annotations) = (name.to_owned(), description.to_owned(), Default::default());
        let (title, output_schema, execution, icons) = (None, None, Execution::Inline, vec![]);
        let tool = Tool { name, title, description, input_schema, output_schema, annotations, execution, icons };
        Arc::new(PluginTool { tool, input, output: None })
    }

    #[test]
    fn a_change_is_seen_and_what_is_pinned_stays_as_it_was() {
        let known = Known::default();
        let before = vec![tool("read", "Reads."), tool("write", "Writes.")];
        assert!(known.changed(&before).is_empty() && known.changed(&before).is_empty());
        let after = vec![tool("read", "Reads. "), tool("write", "Writes."), tool("new", "New.")];
        assert_eq!(known.changed(&after), ["read"]);
        assert!(known.changed(&after).is_empty(), "told once");
        let pin = digest(&before);
        assert_eq!(known.fit("far", Some(&pin), before.clone()).len(), 2);
        assert!(known.fit("far", Some(&pin), after.clone()).is_empty());
        assert_eq!(known.fit("far", None, after).len(), 3);
    }
}
