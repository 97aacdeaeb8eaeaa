//! Records what a call exchanges with the services behind its imports: servers, the host's model, state, accounts.

use super::super::reply::{Reply, said};
use super::super::script::sent_line;
use super::body::RecordedBody;
use super::link::is_nested;
use super::notes::Notes;
use crate::host::Backends;
use async_trait::async_trait;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use policy::{DataKey, PluginId, Principal, StateGrant};
use runtime::imports::{
    ConnectionError, ConnectionRequest, ConnectionResponse, Connections, Egress, ExpectedVersion, HostServices, Http,
    HttpBody, HttpError, HttpRequest, ModelAnswer, ModelError, ModelProvider, SampleRequest, StateEntry, StateError,
    StateOwner, StateStore, is_forbidden_header,
};
use std::sync::Arc;
use std::time::Duration;

/// Wraps the backends so that what the call with this id does is recorded.
pub(super) fn backends(backends: Backends, call: Arc<str>, data: DataKey, notes: &Notes) -> Backends {
    let Backends { services, model } = backends;
    let services = HostServices {
        egress: Arc::new(RecordedEgress { egress: services.egress, call, notes: notes.clone() }),
        state: Arc::new(RecordedState { state: services.state, data, notes: notes.clone() }),
        connections: Arc::new(RecordedConnections { connections: services.connections, notes: notes.clone() }),
        ..services
    };
    let recorded = |model| -> Arc<dyn ModelProvider> { Arc::new(RecordedModel { model, notes: notes.clone() }) };
    Backends { services, model: model.map(recorded) }
}

struct RecordedEgress {
    egress: Arc<dyn Egress>,
    call: Arc<str>,
    notes: Notes,
}

#[async_trait]
impl Egress for RecordedEgress {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError> {
        // A replay does not make the calls of other tools, so their requests are not recorded.
        if call.call_id() != &*self.call {
            return self.egress.send(request, call).await;
        }
        let line = sent_line(&request);
        let at = self.notes.sent(line.clone());
        match self.egress.send(request, call).await {
            Ok(response) => {
                // Secrets are masked in the response. The headers of the request, in which they were sent, are never read.
                self.notes.answered(at, response.status().as_u16(), seen_headers(response.headers()));
                let notes = self.notes.clone();
                Ok(response.map(|body| RecordedBody::new(body, line, at, notes).boxed_unsync()))
            }
            Err(error) => {
                match error {
                    // The host decides the same in a replay.
                    HttpError::Request(_) | HttpError::TooMany(_) => {}
                    HttpError::Denied => self.notes.hint(
                        "a request was refused: a replay looks up no addresses and follows no redirects, so it refuses by \
                         the request alone",
                    ),
                    _ => self.notes.obstacle(format!("`{line}` has no answer to repeat: {error}")),
                }
                self.notes.refused(at);
                Err(error)
            }
        }
    }
}

/// The headers that the guest sees. Removing the forbidden ones changes the order of the others, which a guest may show.
fn seen_headers(all: &HeaderMap) -> HeaderMap {
    let mut seen = all.clone();
    for name in all.keys().filter(|name| is_forbidden_header(name)) {
        seen.remove(name);
    }
    seen
}

struct RecordedModel {
    model: Arc<dyn ModelProvider>,
    notes: Notes,
}

#[async_trait]
impl ModelProvider for RecordedModel {
    async fn sample(&self, request: &SampleRequest, timeout: Duration) -> Result<ModelAnswer, ModelError> {
        let sampled = self.model.sample(request, timeout).await;
        if !is_nested() {
            let reply = match &sampled {
                Ok(ModelAnswer { answer, .. }) => Reply::of_model(answer),
                Err(error) => Err(format!("a model gave no answer to repeat: {error}")),
            };
            self.notes.asked(request.messages.last().map(said).unwrap_or_default(), reply);
        }
        sampled
    }
}

struct RecordedState {
    state: Arc<dyn StateStore>,
    data: DataKey,
    notes: Notes,
}

impl RecordedState {
    fn found(&self, owner: &StateOwner, any: bool) {
        if any && owner.data == self.data {
            self.notes.hint(
                "it found state that is kept, and a transcript begins with none: record the calls that store it into the \
                 same file, first",
            );
        }
    }
}

#[async_trait]
impl StateStore for RecordedState {
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError> {
        let entry = self.state.get(owner, key).await?;
        self.found(owner, entry.is_some());
        Ok(entry)
    }

    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
        quota: StateGrant,
    ) -> Result<u64, StateError> {
        let put = self.state.put(owner, key, value, expected, quota).await;
        // An empty store assigns versions from one, so a higher one shows that it was not empty.
        self.found(owner, matches!(put, Err(StateError::Conflict) | Ok(2..)));
        put
    }

    async fn remove(&self, owner: &StateOwner, key: String, quota: StateGrant) -> Result<bool, StateError> {
        let was_there = self.state.remove(owner, key, quota).await?;
        self.found(owner, was_there);
        Ok(was_there)
    }

    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<String>, StateError> {
        let keys = self.state.keys(owner, prefix, after, most).await?;
        self.found(owner, !keys.is_empty());
        Ok(keys)
    }

    fn session_id(&self, owner: &StateOwner) -> Option<u128> {
        let id = self.state.session_id(owner);
        if id.is_some() && owner.data == self.data {
            self.notes.hint("it asked for the id of its session, which is another one in a replay");
        }
        id
    }
}

struct RecordedConnections {
    connections: Arc<dyn Connections>,
    notes: Notes,
}

impl RecordedConnections {
    fn used(&self) -> &dyn Connections {
        self.notes.hint("a connected account was used, and a transcript has none");
        &*self.connections
    }
}

#[async_trait]
impl Connections for RecordedConnections {
    fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError> {
        self.used().page(principal, plugin, name)
    }

    async fn is_connected(&self, principal: &Principal, name: &str) -> Result<bool, ConnectionError> {
        self.used().is_connected(principal, name).await
    }

    async fn wait_connected(&self, principal: &Principal, name: &str) -> Result<(), ConnectionError> {
        self.used().wait_connected(principal, name).await
    }

    async fn send(
        &self,
        principal: &Principal,
        name: &str,
        request: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError> {
        self.used().send(principal, name, request).await
    }
}
