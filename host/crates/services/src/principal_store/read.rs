//! What clients see: the resources of one principal.

use super::context::format_date;
use super::inbox::{self, INBOX};
use super::resource::{self, StoredResource};
use super::run::{self, StoredRun};
use super::store::PrincipalStore;
use policy::Principal;
use runtime::imports::{Annotations, Provenance, ResourceBody};

const JSON: &str = "application/json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreTemplate {
    /// RFC 6570.
    pub uri: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

/// URIs that can be read but are not listed.
pub const TEMPLATES: &[StoreTemplate] = &[
    StoreTemplate {
        uri: "portcullis://inbox{?after}",
        name: "inbox",
        description: "Events after the one with this id; pass `next` of the previous read to continue.",
    },
    StoreTemplate {
        uri: "portcullis://runs/{call}{?after}",
        name: "run",
        description: "The output of a call after the chunk with this number; kept for ten minutes after the call ends.",
    },
];

#[derive(Debug, Clone, PartialEq)]
pub struct ListedResource {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    /// Bytes, when known.
    pub size: Option<u64>,
    pub annotations: Annotations,
    /// `None` for what the host itself makes.
    pub source: Option<Provenance>,
}

/// A resource's current content.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceSnapshot {
    pub uri: String,
    pub mime_type: Option<String>,
    pub body: ResourceBody,
    /// `None` for the inbox, whose events each have their own source.
    pub source: Option<Provenance>,
}

impl PrincipalStore {
    /// The inbox, then published resources by URI, then run logs from the oldest on.
    pub fn list_resources(&self, owner: &Principal) -> Vec<ListedResource> {
        self.with_owner(owner, |own, _| {
            let published = own.resources.iter().map(|(tail, resource)| list_published(tail, resource));
            std::iter::once(list_inbox()).chain(published).chain(own.runs.iter().map(list_run)).collect()
        })
    }

    /// `None` when this principal has no such resource, even if another principal has.
    pub fn read(&self, owner: &Principal, uri: &str) -> Option<ResourceSnapshot> {
        let (plain, after) = match uri.split_once('?') {
            None => (uri, None),
            Some((plain, query)) => (plain, Some(query.strip_prefix("after=")?)),
        };
        let found = self.with_owner(owner, |own, _| {
            if plain == INBOX {
                return Some(FoundResource::Inbox(own.inbox.excerpt(after)));
            }
            if plain.starts_with(run::PREFIX) {
                let after = after.map(str::parse).transpose().ok()?;
                return Some(FoundResource::Run(own.runs.iter_mut().find(|kept| kept.uri == plain)?.read(after)));
            }
            let resource = own.resources.get(uri.strip_prefix(resource::PREFIX)?)?;
            let (mime_type, source) = (resource.attributes.mime_type.clone(), resource.source.clone());
            Some(FoundResource::Published(mime_type, resource.body.clone(), source))
        })?;
        let json = Some(JSON.to_owned());
        let (mime_type, source, body) = match found {
            FoundResource::Published(mime_type, body, source) => (mime_type, Some(source), body),
            FoundResource::Inbox(excerpt) => (json, None, ResourceBody::Text(excerpt.into_json())),
            FoundResource::Run(excerpt) => {
                (json, Some(excerpt.source().clone()), ResourceBody::Text(excerpt.into_json()))
            }
        };
        Some(ResourceSnapshot { uri: uri.to_owned(), mime_type, body, source })
    }
}

enum FoundResource {
    Published(Option<String>, ResourceBody, Provenance),
    Inbox(inbox::InboxExcerpt),
    Run(run::RunExcerpt),
}

fn list_inbox() -> ListedResource {
    ListedResource {
        uri: INBOX.to_owned(),
        name: "inbox".to_owned(),
        title: Some("Inbox".to_owned()),
        description: Some("Events from plugins, newest last".to_owned()),
        mime_type: Some(JSON.to_owned()),
        size: None,
        annotations: Annotations::default(),
        source: None,
    }
}

fn list_published(tail: &str, resource: &StoredResource) -> ListedResource {
    let StoredResource { body, attributes, source, modified, .. } = resource;
    ListedResource {
        uri: resource::uri(tail),
        name: tail.to_owned(),
        title: attributes.title.clone(),
        description: attributes.description.clone(),
        mime_type: attributes.mime_type.clone(),
        size: Some(resource::length(body) as u64),
        annotations: Annotations { last_modified: Some(format_date(*modified)), ..attributes.annotations.clone() },
        source: Some(source.clone()),
    }
}

fn list_run(kept: &StoredRun) -> ListedResource {
    let state = if kept.has_ended() { "ended" } else { "running" };
    ListedResource {
        uri: kept.uri.clone(),
        name: kept.source().call.clone(),
        title: Some(format!("Output of {}", kept.tool())),
        description: Some(format!("Output of one call of {}; the call is {state}", kept.tool())),
        mime_type: Some(JSON.to_owned()),
        size: None,
        annotations: Annotations { last_modified: Some(format_date(kept.modified)), ..Annotations::default() },
        source: Some(kept.source().clone()),
    }
}
