//! Who answers for a URI, and at which address clients read a resource of a server behind this host. The address is the
//! resource's own URI if that leads to this server and to nobody else; otherwise it names the server.

use super::plugin::Plugin;
use super::snapshot::Catalog;
use super::upstream_server::{ListedItem, UpstreamItem, UpstreamServer, beginning};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The beginning of the host's own URIs. No resource of a server keeps such a URI as its address.
const HOST: &str = "portcullis:";
/// What the addresses of servers' resources begin with; the server's name, `/` and the server's own URI follow.
pub const UPSTREAM_ADDRESSES: &str = "portcullis://upstream/";
/// URIs that clients open themselves, and that lead to the same place for everybody.
const WEB: [&str; 2] = ["https://", "http://"];

/// Who answers for a URI.
pub enum ResourceOwner<'a> {
    Plugin(&'a Arc<Plugin>),
    /// With the URI by which the server knows the resource.
    Server(&'a Arc<UpstreamServer>, &'a str),
    /// Several servers, by their names: it is unknown which one is meant.
    Several(Vec<&'a str>),
}

/// The address that always leads to this server.
pub fn upstream_address(server: &str, uri: &str) -> String {
    [UPSTREAM_ADDRESSES, server, "/", uri].concat()
}

impl Catalog {
    /// None if nobody has such a resource. Resources of the host itself are not looked for.
    pub fn resource_owner<'a>(&'a self, uri: &'a str) -> Option<ResourceOwner<'a>> {
        if let Some((server, own)) = uri.strip_prefix(UPSTREAM_ADDRESSES).and_then(|rest| rest.split_once('/')) {
            let server = self.upstreams.servers.get(server)?;
            return server.requests.exposes(own).then_some(ResourceOwner::Server(server, own));
        }
        if uri.starts_with(HOST) {
            return None;
        }
        if let Some(plugin) = self.plugin_for_uri(uri) {
            return Some(ResourceOwner::Plugin(plugin));
        }
        let claim = |server: &&Arc<UpstreamServer>| server.claims(uri) && server.requests.exposes(uri);
        let claiming: Vec<_> = self.upstreams.servers.values().filter(claim).collect();
        match claiming.as_slice() {
            [] => None,
            [server] => Some(ResourceOwner::Server(server, uri)),
            several => Some(ResourceOwner::Several(several.iter().map(|server| &*server.id.name).collect())),
        }
    }

    /// The address by which clients read a resource of this server.
    pub fn address_of<'a>(&self, server: &str, uri: &'a str) -> Cow<'a, str> {
        match self.resource_owner(uri) {
            Some(ResourceOwner::Server(owner, own)) if *owner.id.name == *server && own == uri => Cow::Borrowed(uri),
            _ => Cow::Owned(upstream_address(server, uri)),
        }
    }

    /// The address that clients get for a link of this server. A URI that clients may not read stays as it is, and so does one
    /// that they open themselves, unless somebody else has claimed it.
    pub fn link_address<'a>(&self, server: &str, uri: &'a str) -> Cow<'a, str> {
        let exposes = || self.upstreams.servers.get(server).is_some_and(|server| server.requests.exposes(uri));
        let is_web = || WEB.iter().any(|scheme| uri.starts_with(scheme)) && self.resource_owner(uri).is_none();
        match !exposes() || is_web() {
            true => Cow::Borrowed(uri),
            false => self.address_of(server, uri),
        }
    }

    /// The template by which clients make addresses of this server's resources.
    fn template_address(&self, server: &UpstreamServer, template: &str) -> String {
        let beginning = beginning(template);
        let overlaps = |other: &str| other.starts_with(beginning) || beginning.starts_with(other);
        let is_others = overlaps(HOST)
            || self.resources.keys().any(|uri| uri.starts_with(beginning))
            || self.templates.keys().any(|other| overlaps(super::upstream_server::beginning(other)))
            || self.upstreams.servers.values().any(|other| other.id != server.id && other.may_claim(beginning));
        match is_others {
            true => upstream_address(&server.id.name, template),
            false => template.to_owned(),
        }
    }

    /// Adds what servers list, under the addresses that clients get.
    pub(super) fn insert_upstream_resources(&mut self) {
        let (mut resources, mut templates) = (BTreeMap::new(), BTreeMap::new());
        let found = |server: &Arc<UpstreamServer>, item: &Arc<ListedItem>| UpstreamItem {
            server: server.clone(),
            item: item.clone(),
        };
        for server in self.upstreams.servers.values() {
            for item in &server.resources {
                resources.insert(self.address_of(&server.id.name, &item.key).into_owned(), found(server, item));
            }
            for item in &server.templates {
                templates.insert(self.template_address(server, &item.key), found(server, item));
            }
        }
        (self.upstream_resources, self.upstream_templates) = (resources, templates);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;
    use super::super::{CatalogRules, UpstreamOffers};
    use super::*;

    fn catalog(servers: &[(&str, &[&str], &[&str])]) -> Catalog {
        let servers = servers.iter().map(|(name, uris, templates)| ((*name).to_owned(), server(name, uris, templates)));
        let upstreams = UpstreamOffers { servers: servers.collect(), ..UpstreamOffers::default() };
        Catalog::starting(CatalogRules::default(), Default::default(), true).with_upstreams(upstreams).unwrap()
    }

    fn leads_to(catalog: &Catalog, uri: &str) -> Option<(String, String)> {
        match catalog.resource_owner(uri)? {
            ResourceOwner::Server(server, own) => Some((server.id.name.to_string(), own.to_owned())),
            ResourceOwner::Several(names) => Some((names.join("+"), uri.to_owned())),
            ResourceOwner::Plugin(_) => None,
        }
    }

    #[test]
    fn an_address_leads_to_its_server_alone() {
        let all = catalog(&[
            ("a", &["x:1", "x:2", "portcullis://inbox"], &["notes://{id}"]),
            ("b", &["x:2", "notes://7"], &["files://{+path}", "{+uri}"]),
            ("c", &["portcullis://upstream/a/x:1"], &[]),
        ]);
        for server in ["a", "b", "c"] {
            let uris =
                ["x:1", "x:2", "x:3", "notes://7", "notes://8", "files://f", "portcullis://inbox", "portcullis:"];
            for uri in uris {
                let address = all.address_of(server, uri);
                assert_eq!(leads_to(&all, &address), Some((server.into(), uri.into())), "{address}");
            }
        }
        // A template that stands for everything claims everything.
        assert_eq!(all.address_of("b", "y:1"), "y:1");
        assert_eq!(leads_to(&all, "x:1").unwrap().0, "a+b");
        assert_eq!(leads_to(&all, "portcullis://inbox"), None);
        assert_eq!(leads_to(&all, "portcullis://upstream/d/x:1"), None);
        let nested = all.address_of("c", "portcullis://upstream/a/x:1");
        assert_eq!(nested, "portcullis://upstream/c/portcullis://upstream/a/x:1");
        assert_eq!(leads_to(&all, &nested).unwrap().0, "c");
    }

    #[test]
    fn what_one_server_alone_has_keeps_its_uri() {
        let all =
            catalog(&[("a", &["x:1"], &["notes://{id}/text", "w:{a}"]), ("b", &["notes://7"], &["files://{+path}"])]);
        assert_eq!(
            all.upstream_resources().map(|(address, _)| address).collect::<Vec<_>>(),
            ["portcullis://upstream/b/notes://7", "x:1"]
        );
        let templates: Vec<_> = all.upstream_templates().map(|(address, _)| address).collect();
        // A URI that one server lists and that a template of the other matches leads to neither of them.
        assert_eq!(templates, ["files://{+path}", "portcullis://upstream/a/notes://{id}/text", "w:{a}"]);
    }
}
