//! One entry of the catalog.

use super::plugin::Plugin;
use crate::offer::PluginTool;
use std::sync::Arc;

/// One thing that a plugin offers, as clients know it.
pub struct CatalogEntry<T: 'static> {
    pub(super) plugin: Arc<Plugin>,
    /// Position in `list`.
    pub(super) index: usize,
    pub(super) list: fn(&Plugin) -> &[T],
}

impl<T> CatalogEntry<T> {
    pub fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    pub fn item(&self) -> &T {
        &(self.list)(&self.plugin)[self.index]
    }
}

impl<T> Clone for CatalogEntry<T> {
    fn clone(&self) -> Self {
        Self { plugin: self.plugin.clone(), index: self.index, list: self.list }
    }
}

impl CatalogEntry<Arc<PluginTool>> {
    pub fn tool(&self) -> &Arc<PluginTool> {
        self.item()
    }
}
