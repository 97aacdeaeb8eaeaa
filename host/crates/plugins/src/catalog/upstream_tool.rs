//! A tool of an upstream server, exposed beside the plugins' tools.

use crate::offer::PluginTool;
use deunicode::deunicode_with_tofu;
use policy::{Digest, KEPT_OF_NAME, PluginId, Side};
use runtime::imports::ToolCaller;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hexadecimal digits of a digest that tell two names apart. A server that finds two equal ones shadows its own tool.
const SHORT_DIGEST: usize = 8;
/// The name of a tool of whose own name nothing can be written.
const UNNAMED: &str = "tool";

/// What the servers behind this host offer now.
#[derive(Default, Clone)]
pub struct UpstreamOffers {
    pub tools: Vec<Arc<UpstreamTool>>,
    /// What of their lists is not used, a sentence each, by the name of the server. Bounded.
    pub left_out: BTreeMap<String, Vec<String>>,
    /// Why servers have no tools yet, by their names.
    pub missing: BTreeMap<String, String>,
}

pub struct UpstreamTool {
    /// The server's configured name, in the place of a plugin's.
    pub id: PluginId,
    /// Under the name that the server gives it.
    pub tool: Arc<PluginTool>,
    pub caller: Arc<dyn ToolCaller>,
}

impl UpstreamTool {
    pub fn new(server: &str, tool: Arc<PluginTool>, caller: Arc<dyn ToolCaller>) -> Self {
        Self { id: PluginId { side: Side::Server, name: server.into() }, tool, caller }
    }

    /// Whether clients accept the server's own name for it as it is.
    pub(super) fn has_plain_name(&self) -> bool {
        self.tool.tool.name.chars().all(is_plain)
    }

    /// The name by which clients call it, if it fits: letters of other scripts are written as they sound, and what else clients do
    /// not accept is replaced.
    pub(super) fn exposed_name(&self) -> String {
        format!("{}__{}", self.id.name, to_plain(&self.tool.tool.name))
    }

    /// Another name by which clients call it: its end depends on all of the server's own name, and no client shortens it.
    pub(super) fn short_name(&self) -> String {
        let name = self.exposed_name();
        let digest = Digest::sha256(self.tool.full_name.as_bytes());
        let end = digest.hex().get(..SHORT_DIGEST).unwrap_or_default();
        format!("{}_{end}", name.get(..KEPT_OF_NAME - SHORT_DIGEST - 1).unwrap_or(&name))
    }
}

fn to_plain(name: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '_' };
    if name.is_ascii() {
        return name.chars().map(plain).collect();
    }
    // What cannot be written is left out.
    let words = deunicode_with_tofu(name, "").chars().map(plain).collect::<String>();
    let words: Vec<_> = words.split('_').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { UNNAMED.to_owned() } else { words.join("_") }
}

/// Whether clients accept the character in a name.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_other_scripts_are_readable() {
        for (name, plain) in [
            ("read_file", "read_file"),
            ("two words", "two_words"),
            ("a/b.c", "a_b_c"),
            ("保存文件", "Bao_Cun_Wen_Jian"),
            ("поиск", "poisk"),
            ("café menu", "cafe_menu"),
            ("\u{10ffff}", "tool"),
        ] {
            assert_eq!(to_plain(name), plain, "{name}");
        }
    }
}
