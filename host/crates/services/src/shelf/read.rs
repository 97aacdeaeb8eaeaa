//! What clients may see: the resources of one principal.

use super::inbox;
use super::resources::{self, Resource, length};
use super::runs::{self, Kept};
use super::{Shelf, date};
use policy::Principal;
use runtime::imports::{Annotations, Provenance, ResourceBody};

/// The inbox; every principal has its own behind this URI.
pub const INBOX: &str = "portcullis://inbox";

const JSON: &str = "application/json";

/// A family of URIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// RFC 6570.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
}

/// What can be read besides what is listed.
pub const TEMPLATES: &[Template] = &[
    Template {
        uri: "portcullis://inbox{?after}",
        name: "inbox",
        description: "Events after the one with this id; `next` of the last reading is the id to read on with.",
    },
    Template {
        uri: "portcullis://runs/{call}{?after}",
        name: "run",
        description: "What a call has given so far, after the chunk with this number; kept for ten minutes after its end.",
    },
];

/// A resource in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Where.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Media type.
    pub mime_type: Option<String>,
    /// Bytes, when known.
    pub size: Option<u64>,
    /// Audience, priority, time of the last change.
    pub annotations: Annotations,
    /// Where it comes from; none for what the host itself makes.
    pub source: Option<Provenance>,
}

/// What is in a resource now.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// As it was asked for.
    pub uri: String,
    /// Media type.
    pub mime_type: Option<String>,
    /// The resource itself.
    pub body: ResourceBody,
    /// Where it comes from; none for the inbox, whose events each say.
    pub source: Option<Provenance>,
}

impl Shelf {
    /// A principal's resources: the inbox, what is published by URI, logs of runs from the oldest on.
    pub fn list_resources(&self, owner: &Principal) -> Vec<Listed> {
        self.with(owner, |own, _| {
            let published = own.resources.iter().map(|(tail, resource)| listed(tail, resource));
            std::iter::once(the_inbox()).chain(published).chain(own.runs.iter().map(run)).collect()
        })
    }

    /// What a resource holds now. None when this principal has no such resource, whoever else may have one.
    pub fn read(&self, owner: &Principal, uri: &str) -> Option<Reading> {
        let (plain, after) = match uri.split_once('?') {
            None => (uri, None),
            Some((plain, query)) => (plain, Some(query.strip_prefix("after=")?)),
        };
        let found = self.with(owner, |own, _| {
            if plain == INBOX {
                return Some(Found::Inbox(own.inbox.excerpt(after)));
            }
            if plain.starts_with(runs::PREFIX) {
                let after = after.map(str::parse).transpose().ok()?;
                return Some(Found::Run(own.runs.iter_mut().find(|kept| kept.uri == plain)?.excerpt(after)));
            }
            let resource = own.resources.get(uri.strip_prefix(resources::PREFIX)?)?;
            let (mime_type, source) = (resource.attributes.mime_type.clone(), resource.source.clone());
            Some(Found::Published(mime_type, resource.body.clone(), source))
        })?;
        let json = Some(JSON.to_owned());
        let (mime_type, source, body) = match found {
            Found::Published(mime_type, body, source) => (mime_type, Some(source), body),
            Found::Inbox(excerpt) => (json, None, ResourceBody::Text(excerpt.text())),
            Found::Run(excerpt) => (json, Some(excerpt.source().clone()), ResourceBody::Text(excerpt.text())),
        };
        Some(Reading { uri: uri.to_owned(), mime_type, body, source })
    }
}

/// What stands behind a URI.
enum Found {
    Published(Option<String>, ResourceBody, Provenance),
    Inbox(inbox::Excerpt),
    Run(runs::Excerpt),
}

fn the_inbox() -> Listed {
    Listed {
        uri: INBOX.to_owned(),
        name: "inbox".to_owned(),
        title: Some("Inbox".to_owned()),
        description: Some("Events that plugins had to tell, newest last".to_owned()),
        mime_type: Some(JSON.to_owned()),
        size: None,
        annotations: Annotations::default(),
        source: None,
    }
}

fn listed(tail: &str, resource: &Resource) -> Listed {
    let Resource { body, attributes, source, modified, .. } = resource;
    Listed {
        uri: resources::uri(tail),
        name: tail.to_owned(),
        title: attributes.title.clone(),
        description: attributes.description.clone(),
        mime_type: attributes.mime_type.clone(),
        size: Some(length(body) as u64),
        annotations: Annotations { last_modified: Some(date(*modified)), ..attributes.annotations.clone() },
        source: Some(source.clone()),
    }
}

fn run(kept: &Kept) -> Listed {
    let state = if kept.has_ended() { "ended" } else { "running" };
    Listed {
        uri: kept.uri.clone(),
        name: kept.source().call.clone(),
        title: Some(format!("Output of {}", kept.tool())),
        description: Some(format!("What one call of {} gave while it ran; the call is {state}", kept.tool())),
        mime_type: Some(JSON.to_owned()),
        size: None,
        annotations: Annotations { last_modified: Some(date(kept.modified)), ..Annotations::default() },
        source: Some(kept.source().clone()),
    }
}
