//! Links in what a server says get addresses by which the clients of this host can read them.

use plugins::catalog::CurrentCatalog;
use runtime::imports::{Content, ContentData, ResourceLink};
use std::sync::Arc;

/// The addresses that clients get. Without a catalog, links stay as they are: an agent asks the server itself.
#[derive(Clone, Default)]
pub(super) struct Links(Option<Arc<CurrentCatalog>>);

impl Links {
    pub(super) fn of_clients(catalog: Arc<CurrentCatalog>) -> Self {
        Self(Some(catalog))
    }

    pub(super) fn resolve<'a>(&self, server: &str, content: impl IntoIterator<Item = &'a mut Content>) {
        let Some(catalog) = &self.0 else { return };
        let mut snapshot = None;
        for link in content.into_iter().filter_map(link) {
            let catalog = snapshot.get_or_insert_with(|| catalog.snapshot());
            link.uri = catalog.link_address(server, &link.uri).into_owned();
        }
    }

    /// The address of a resource that is itself there.
    pub(super) fn address(&self, server: &str, uri: String) -> String {
        match &self.0 {
            Some(catalog) => catalog.snapshot().address_of(server, &uri).into_owned(),
            None => uri,
        }
    }
}

/// What is embedded has its content with it, and keeps its name.
fn link(content: &mut Content) -> Option<&mut ResourceLink> {
    match &mut content.data {
        ContentData::ResourceLink(link) => Some(link),
        ContentData::Text(_) | ContentData::Image(_) | ContentData::Audio(_) | ContentData::Resource(_) => None,
    }
}
