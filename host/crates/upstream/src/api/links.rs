//! Gives links in a server's answers addresses by which the clients of this host can read them, and turns such addresses in
//! what clients send back into the server's own URIs.

use plugins::catalog::{CurrentCatalog, upstream_address};
use runtime::imports::{Content, ContentData, ResourceLink};
use serde_json::Value;
use std::sync::Arc;

/// The addresses that clients get. Without a catalog, links stay as they are: an agent asks the server itself, and a plugin cannot ask
/// for resources.
#[derive(Clone, Default)]
pub(crate) struct Links(Option<Arc<CurrentCatalog>>);

impl Links {
    pub(crate) fn of_clients(catalog: Arc<CurrentCatalog>) -> Self {
        Self(Some(catalog))
    }

    pub(crate) fn resolve<'a>(&self, server: &str, content: impl IntoIterator<Item = &'a mut Content>) {
        let Some(catalog) = &self.0 else { return };
        let mut snapshot = None;
        for link in content.into_iter().filter_map(link) {
            let catalog = snapshot.get_or_insert_with(|| catalog.snapshot());
            link.uri = catalog.link_address(server, &link.uri).into_owned();
        }
    }

    /// Puts the server's own URIs in the place of addresses that name it.
    pub(crate) fn restore<'a>(&self, server: &str, arguments: impl IntoIterator<Item = &'a mut Value>) {
        if self.0.is_some() {
            let address = upstream_address(server, "");
            arguments.into_iter().for_each(|value| restore(&address, value));
        }
    }

    /// The address of a resource whose content is in the answer itself.
    pub(crate) fn address(&self, server: &str, uri: String) -> String {
        match &self.0 {
            Some(catalog) => catalog.snapshot().address_of(server, &uri).into_owned(),
            None => uri,
        }
    }
}

fn restore(address: &str, value: &mut Value) {
    // serde_json bounds the recursion at 128.
    match value {
        Value::String(text) => {
            if let Some(own) = text.strip_prefix(address) {
                *text = own.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| restore(address, item)),
        Value::Object(members) => members.values_mut().for_each(|item| restore(address, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An embedded resource comes with its content, and keeps its URI.
fn link(content: &mut Content) -> Option<&mut ResourceLink> {
    match &mut content.data {
        ContentData::ResourceLink(link) => Some(link),
        ContentData::Text(_) | ContentData::Image(_) | ContentData::Audio(_) | ContentData::Resource(_) => None,
    }
}
