//! Names by which clients know what servers behind this host offer, beside the names of plugins.

use super::upstream_server::UpstreamItem;
use super::upstream_tool::UpstreamTool;
use crate::offer::is_valid_name;
use deunicode::deunicode_with_tofu;
use policy::{Digest, DistinctNames, KEPT_OF_NAME, PluginId, looks_like_host};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most log lines of one catalog about items that get another name. Bounds what a server can write to the log.
const MAX_RENAMED_TOLD: usize = 16;
/// The most sentences about items of one server that clients do not get. Bounds what a server can make an operator read.
const MAX_LEFT_OUT: usize = 32;
/// Hexadecimal digits of a digest that distinguish two names. A server that finds a collision only shadows its own item.
const SHORT_DIGEST: usize = 8;

/// Names with the plugin or server that has them; none for the host.
pub(super) type OwnedNames = DistinctNames<Option<PluginId>>;

/// Something that clients call by a name.
pub(super) trait Named {
    /// The kind of item, for people.
    const KIND: &'static str;
    /// The server that has it.
    fn id(&self) -> &PluginId;
    /// The server's own name for it.
    fn own_name(&self) -> &str;
}

impl Named for UpstreamTool {
    const KIND: &'static str = "tool";

    fn id(&self) -> &PluginId {
        &self.id
    }

    fn own_name(&self) -> &str {
        &self.tool.tool.name
    }
}

/// A prompt.
impl Named for UpstreamItem {
    const KIND: &'static str = "prompt";

    fn id(&self) -> &PluginId {
        &self.server.id
    }

    fn own_name(&self) -> &str {
        self.item.name()
    }
}

/// Gives names to what servers offer. A clash must not keep the host from starting, so an item that cannot have its own name
/// beside the others gets another one. `before` has the names that were logged already.
pub(super) fn expose_named<T: Named>(
    mut items: Vec<Arc<T>>,
    mut names: OwnedNames,
    before: &BTreeMap<String, Arc<T>>,
    left_out: &mut BTreeMap<String, Vec<String>>,
) -> BTreeMap<String, Arc<T>> {
    let (mut exposed, mut renamed, kind) = (BTreeMap::new(), 0, T::KIND);
    // Sorted, because no name may depend on the server's order. A name that needs no change comes first and is kept.
    items.sort_by_key(|item| (Reverse(item.own_name().chars().all(is_plain)), own_full_name(&**item)));
    for item in items {
        let owner = Some(item.id().clone());
        let plain = exposed_name(&*item);
        let mut fits = |name: &str| is_valid_name(name) && !looks_like_host(name) && names.insert(name, &owner).is_ok();
        let name = if fits(&plain) { plain.clone() } else { short_name(&*item) };
        let upstream = &*item.id().name;
        if name != plain && !fits(&name) {
            let lost = format!("a {kind} cannot be exposed as `{plain}`, nor as `{name}`");
            tracing::warn!(upstream, "{lost}");
            let told = left_out.entry(upstream.to_owned()).or_default();
            if told.len() < MAX_LEFT_OUT {
                told.push(lost);
            }
            continue;
        }
        if name != plain && !before.contains_key(&name) {
            renamed += 1;
            if renamed <= MAX_RENAMED_TOLD {
                let why = "a client may take the name for another one, or shorten it";
                tracing::warn!(upstream, "a {kind} is exposed as `{name}`, not as `{plain}`: {why}");
            }
        }
        exposed.insert(name, item);
    }
    if renamed > MAX_RENAMED_TOLD {
        tracing::warn!("{} more {kind}s of servers are exposed under other names", renamed - MAX_RENAMED_TOLD);
    }
    exposed
}

fn own_full_name(item: &impl Named) -> String {
    format!("{}.{}", item.id().name, item.own_name())
}

/// The name by which clients call the item, if it fits: letters of other scripts are transliterated, and other characters that
/// clients do not accept are replaced.
fn exposed_name<T: Named>(item: &T) -> String {
    format!("{}__{}", item.id().name, to_plain(item.own_name(), T::KIND))
}

/// Another name by which clients call the item. Its end is a digest of the server's whole name for it; no client shortens it.
fn short_name<T: Named>(item: &T) -> String {
    let name = exposed_name(item);
    let digest = Digest::sha256(own_full_name(item).as_bytes());
    let end = digest.hex().get(..SHORT_DIGEST).unwrap_or_default();
    format!("{}_{end}", name.get(..KEPT_OF_NAME - SHORT_DIGEST - 1).unwrap_or(&name))
}

/// `unnamed` is the result if no part of the name can be transliterated.
fn to_plain(name: &str, unnamed: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '_' };
    if name.is_ascii() {
        return name.chars().map(plain).collect();
    }
    // Characters without a transliteration are left out.
    let words = deunicode_with_tofu(name, "").chars().map(plain).collect::<String>();
    let words: Vec<_> = words.split('_').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { unnamed.to_owned() } else { words.join("_") }
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
            assert_eq!(to_plain(name, "tool"), plain, "{name}");
        }
    }
}
