//! `tools/list`: made once per catalog.

use crate::registry::{Catalog, Exposed};
use rmcp::model::{CacheScope, Icon, ListToolsResult, Tool, ToolAnnotations};
use std::sync::Arc;

/// How long a client may keep the list, in milliseconds. The list changes only when the host restarts.
const TTL_MS: u64 = 60_000;

/// All exposed tools, in the catalog's order.
pub(super) fn of(catalog: &Catalog) -> ListToolsResult {
    let tools = catalog.iter().map(|(name, exposed)| tool(name, exposed)).collect();
    // The list is the same for everybody, so shared caches may keep it.
    ListToolsResult::with_all_items(tools).with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public)
}

fn tool(name: &str, exposed: &Exposed) -> Tool {
    let described = &exposed.tool().tool;
    let schema = Arc::new(exposed.tool().input.document().clone());
    let mut tool = Tool::new(name.to_owned(), described.description.clone(), schema);
    tool.title = described.title.clone();
    tool.output_schema = exposed.tool().output.as_ref().map(|schema| Arc::new(schema.document().clone()));
    let hints = &described.annotations;
    let known = [hints.read_only, hints.destructive, hints.idempotent, hints.open_world];
    tool.annotations = known.iter().any(Option::is_some).then(|| {
        ToolAnnotations::from_raw(None, hints.read_only, hints.destructive, hints.idempotent, hints.open_world)
    });
    let icons: Vec<Icon> = described
        .icons
        .iter()
        .map(|icon| {
            let mut shown = Icon::new(icon.src.clone());
            shown.mime_type = icon.mime_type.clone();
            shown.sizes = (!icon.sizes.is_empty()).then(|| icon.sizes.clone());
            shown
        })
        .collect();
    tool.icons = (!icons.is_empty()).then_some(icons);
    tool
}
