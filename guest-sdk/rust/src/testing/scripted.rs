//! The parts of the fake host that tests script: the client, accounts and published items.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;

use super::host::Host;
use super::state;
use super::state::client::Asked;
use super::state::connections::Sent;
use super::state::http::SentHttp;
use super::state::published::{Event, PublishedPrompt, PublishedResource};
use crate::ResourceBody;
use crate::bindings::portcullis::plugin::client::{Consent, Root, SampleAnswer};
use crate::bindings::portcullis::plugin::connections::Response;
use crate::host_types::client::{Answer, ClientError};
use crate::host_types::connections::ConnectionError;
use crate::host_types::http;

/// Questions. The fake client supports only the kinds that are scripted here.
impl Host {
    /// Adds an answer to the queue for forms.
    #[must_use]
    pub fn form(self, answer: Answer<Value>) -> Self {
        state::with(|state| state.client.forms.push(answer));
        self
    }

    /// Answers all further forms with a closure.
    #[must_use]
    pub fn forms(self, answer: impl FnMut(&Asked) -> Result<Answer<Value>, ClientError> + 'static) -> Self {
        state::with(|state| state.client.forms.answer_by(answer));
        self
    }

    /// Adds an answer to the queue for pages to open and accounts to connect.
    #[must_use]
    pub fn page(self, consent: Consent) -> Self {
        state::with(|state| state.client.pages.push(consent));
        self
    }

    /// Answers all further pages with a closure.
    #[must_use]
    pub fn pages(self, answer: impl FnMut(&Asked) -> Result<Consent, ClientError> + 'static) -> Self {
        state::with(|state| state.client.pages.answer_by(answer));
        self
    }

    /// Adds an answer to the queue for requests to a model: a text, a [`SampleContent`](crate::client::SampleContent)
    /// such as a use of a tool, or a whole [`SampleAnswer`].
    #[must_use]
    pub fn sample(self, answer: impl Into<SampleAnswer>) -> Self {
        state::with(|state| state.client.samples.push(answer.into()));
        self
    }

    /// Answers all further requests to a model with a closure.
    #[must_use]
    pub fn samples(self, answer: impl FnMut(&Asked) -> Result<SampleAnswer, ClientError> + 'static) -> Self {
        state::with(|state| state.client.samples.answer_by(answer));
        self
    }

    /// Sets the client's roots, by URI.
    #[must_use]
    pub fn roots<S: Into<String>>(self, uris: impl IntoIterator<Item = S>) -> Self {
        let roots: Vec<Root> = uris.into_iter().map(|uri| Root { uri: uri.into(), name: None }).collect();
        state::with(|state| state.client.roots.answer_by(move |_| Ok(roots.clone())));
        self
    }

    /// The questions asked so far, also those without an answer, but not those that the client does not support.
    pub fn asked(&self) -> Vec<Asked> {
        state::with(|state| state.client.asked.clone())
    }
}

/// Accounts, and what outlives a call.
impl Host {
    /// Grants a connected account, whose server is a closure.
    #[must_use]
    pub fn connection(
        self,
        name: &str,
        server: impl FnMut(&Sent) -> Result<Response, ConnectionError> + 'static,
    ) -> Self {
        let server = Rc::new(RefCell::new(server));
        state::with(|state| state.connections.servers.insert(name.to_owned(), server));
        self
    }

    /// Grants requests to all other servers, which are answered by a closure.
    #[must_use]
    pub fn http(self, server: impl FnMut(&SentHttp) -> Result<http::Response, http::HttpError> + 'static) -> Self {
        let server = Rc::new(RefCell::new(server));
        state::with(|state| state.http.server = Some(server));
        self
    }

    /// The requests sent to other servers so far.
    pub fn sent_http(&self) -> Vec<SentHttp> {
        state::with(|state| state.http.sent.clone())
    }

    /// Disconnects an account, until a tool asks the user to connect it and the user agrees.
    #[must_use]
    pub fn disconnected(self, name: &str) -> Self {
        state::with(|state| state.connections.disconnected.push(name.to_owned()));
        self
    }

    /// Refuses a capability by its name in the configuration, as if it were not granted: `client.form`, `client.url`,
    /// `client.sample`, `client.roots`, `publish`, `events` or `state`. Accounts and agent tools are refused unless
    /// granted.
    #[must_use]
    pub fn deny(self, capability: &str) -> Self {
        state::with(|state| state.denied.push(capability.to_owned()));
        self
    }

    /// The requests sent with connected accounts so far.
    pub fn sent(&self) -> Vec<Sent> {
        state::with(|state| state.connections.sent.clone())
    }

    /// A published resource, by its path.
    pub fn published(&self, path: &str) -> Option<PublishedResource> {
        state::with(|state| state.published.resources.get(path).cloned())
    }

    /// The text of a published resource, by its path.
    pub fn published_text(&self, path: &str) -> Option<String> {
        match self.published(path)?.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => None,
        }
    }

    /// A published prompt, by its name.
    pub fn published_prompt(&self, name: &str) -> Option<PublishedPrompt> {
        state::with(|state| state.published.prompts.get(name).cloned())
    }

    /// The events emitted so far.
    pub fn events(&self) -> Vec<Event> {
        state::with(|state| state.published.events.clone())
    }
}
