//! `connections`: accounts that users have connected. The host holds the credentials; a guest names an account and a
//! request, and never sees the credential.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::types::{BudgetKind, Exhaustion, GuestDenial};
use crate::journal::{CallJournal, Repeat, bytes};
use async_trait::async_trait;
use platform::telemetry::printable;
use policy::{PluginId, Principal, Recipient, TreeBudget};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One HTTP request below an account's base address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRequest {
    /// Such as `GET`.
    pub method: String,
    pub path: String,
    /// In order.
    pub headers: Vec<(String, String)>,
    #[serde(with = "bytes")]
    pub body: Vec<u8>,
}

/// What the other server answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionResponse {
    pub status: u16,
    /// Without credentials and connection headers.
    pub headers: Vec<(String, String)>,
    #[serde(with = "bytes")]
    pub body: Vec<u8>,
}

impl ConnectionResponse {
    pub fn size(&self) -> u64 {
        size(&self.headers, &self.body)
    }
}

impl ConnectionRequest {
    pub fn size(&self) -> u64 {
        size(&self.headers, &self.body) + self.path.len() as u64
    }
}

fn size(headers: &[(String, String)], body: &[u8]) -> u64 {
    headers.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum::<u64>() + body.len() as u64
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConnectionError {
    Denied(GuestDenial),
    /// Not connected yet, or it must be connected again.
    NotConnected,
    /// There is no such account, or the request is not allowed.
    Invalid(String),
    Exhausted(Exhaustion),
    /// Milliseconds.
    Timeout(u64),
    /// The other server could not be reached or misbehaved, or the host could not store a credential.
    Failed(String),
}

impl ErrorName for ConnectionError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::NotConnected => "not-connected",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::Timeout(_) => "timeout",
            Self::Failed(_) => "failed",
        }
    }
}

/// Holds the credentials; implemented by `services::connections`.
#[async_trait]
pub trait Connections: Send + Sync {
    /// The address of a new page on which this principal can connect an account. It works once and expires; it names
    /// the plugin.
    fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError>;
    async fn is_connected(&self, principal: &Principal, name: &str) -> Result<bool, ConnectionError>;
    /// Waits until the account is connected; the caller sets a timeout.
    async fn wait_connected(&self, principal: &Principal, name: &str) -> Result<(), ConnectionError>;
    /// Sends one request with the account's credentials.
    async fn send(
        &self,
        principal: &Principal,
        name: &str,
        request: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError>;
}

#[derive(Debug, Clone, Copy)]
pub struct NoConnections;

impl NoConnections {
    fn none(name: &str) -> ConnectionError {
        let name = printable(name);
        ConnectionError::Invalid(format!("no account `{name}` is configured; it would be [connections.{name}]"))
    }
}

#[async_trait]
impl Connections for NoConnections {
    fn page(&self, _: &Principal, _: &PluginId, name: &str) -> Result<String, ConnectionError> {
        Err(Self::none(name))
    }

    async fn is_connected(&self, _: &Principal, name: &str) -> Result<bool, ConnectionError> {
        Err(Self::none(name))
    }

    async fn wait_connected(&self, _: &Principal, name: &str) -> Result<(), ConnectionError> {
        Err(Self::none(name))
    }

    async fn send(
        &self,
        _: &Principal,
        name: &str,
        _: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError> {
        Err(Self::none(name))
    }
}

/// One call's access to its principal's accounts.
#[derive(Clone)]
pub struct Accounts {
    scope: Arc<CallScope>,
    connections: Arc<dyn Connections>,
    journal: CallJournal,
}

impl Accounts {
    pub fn new(scope: Arc<CallScope>, connections: Arc<dyn Connections>, journal: CallJournal) -> Self {
        Self { scope, connections, journal }
    }

    fn principal(&self) -> &Principal {
        &self.scope.context.principal
    }

    pub fn page(&self, name: &str) -> Result<String, ConnectionError> {
        self.granted(name)?;
        let plugin = self.scope.authority.plugin();
        let step = self.journal.begin("connections.page", &name);
        step.see(|| self.connections.page(self.principal(), plugin, name))
    }

    pub async fn connected(&self, name: &str) -> Result<bool, ConnectionError> {
        self.journal.begin("connections.connected", &name).ask(self.connected_now(name)).await
    }

    /// Asks without a journal step of its own, for a caller whose own step records the answer.
    pub(super) async fn connected_now(&self, name: &str) -> Result<bool, ConnectionError> {
        self.granted(name)?;
        self.connections.is_connected(self.principal(), name).await
    }

    /// Waits without a limit; the caller sets a timeout.
    pub async fn wait_connected(&self, name: &str) -> Result<(), ConnectionError> {
        self.granted(name)?;
        self.connections.wait_connected(self.principal(), name).await
    }

    pub async fn send(&self, name: &str, request: ConnectionRequest) -> Result<ConnectionResponse, ConnectionError> {
        self.granted(name)?;
        // The other server has rate limits, and counts requests against the user.
        let exhausted = |limit| ConnectionError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit });
        self.scope.lineage.take(TreeBudget::AccountRequests, 1).map_err(exhausted)?;
        let again = if is_safe(&request.method) { Repeat::Safe } else { Repeat::Unsafe };
        let step = self.journal.begin("connections.send", &(name, &request)).with(|| name.to_owned());
        step.act(again, self.connections.send(self.principal(), name, request)).await
    }

    /// Checks the grant, and that private results may go to the account. Every use needs this check because the account's
    /// server may notice it: a page leads to that server, and asking whether the account is connected may renew a token.
    fn granted(&self, name: &str) -> Result<(), ConnectionError> {
        let authority = &self.scope.authority;
        authority.enforce(authority.connection(name)).map_err(ConnectionError::Denied)?;
        self.scope.check_flow(&Recipient::Connection(name.to_owned())).map_err(ConnectionError::Denied)
    }
}

/// Whether a request may be sent twice (RFC 9110, section 9.2).
fn is_safe(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].iter().any(|safe| method.eq_ignore_ascii_case(safe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::CallContext;
    use policy::{Authority, Grants, Limits, Lineage, Requests, Side};

    /// Allows everything, so that only the checks of `Accounts` apply.
    struct AllowAll;

    #[async_trait]
    impl Connections for AllowAll {
        fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError> {
            Ok(format!("{principal} {plugin} {name}"))
        }

        async fn is_connected(&self, _: &Principal, _: &str) -> Result<bool, ConnectionError> {
            Ok(true)
        }

        async fn wait_connected(&self, _: &Principal, _: &str) -> Result<(), ConnectionError> {
            Ok(())
        }

        async fn send(
            &self,
            _: &Principal,
            _: &str,
            request: ConnectionRequest,
        ) -> Result<ConnectionResponse, ConnectionError> {
            Ok(ConnectionResponse { status: 200, headers: request.headers, body: request.body })
        }
    }

    fn accounts(requests: &str, grants: &str) -> Accounts {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let requests: Requests = toml::from_str(requests).unwrap();
        let grants: Grants = toml::from_str(grants).unwrap();
        let authority = Arc::new(Authority::new(plugin, &requests, &grants));
        let limits = Arc::new(Limits { calls: 2, ..Limits::default() });
        let lineage = Lineage::root("plugins.p.x", &limits);
        let scope = CallScope::new(CallContext::new("local"), authority, lineage, limits);
        Accounts::new(scope, Arc::new(AllowAll), CallJournal::default())
    }

    #[tokio::test]
    async fn requests_of_a_call_are_counted() {
        let github = r#"connections = ["github"]"#;
        let accounts = accounts(github, github);
        let send = || accounts.send("github", ConnectionRequest::default());
        assert!(send().await.is_ok() && send().await.is_ok());
        let exhausted = Exhaustion { budget: BudgetKind::Calls, limit: 2 };
        assert_eq!(send().await, Err(ConnectionError::Exhausted(exhausted)));
    }

    #[tokio::test]
    async fn a_private_result_does_not_reach_an_account() {
        let github = r#"connections = ["github"]"#;
        let closed = accounts(github, github);
        closed.scope.lineage.mark_private(policy::Origin::Client);
        let sent = closed.send("github", ConnectionRequest::default()).await;
        assert!(matches!(sent, Err(ConnectionError::Denied(denial)) if denial.capability == "flows"));
        let open = accounts(
            github,
            r#"connections = ["github"]
            flows = ["client -> connections.github"]"#,
        );
        open.scope.lineage.mark_private(policy::Origin::Client);
        assert!(open.send("github", ConnectionRequest::default()).await.is_ok());
    }

    #[tokio::test]
    async fn a_request_and_a_grant_are_needed() {
        let github = r#"connections = ["github"]"#;
        let allowed = accounts(github, github);
        assert_eq!(allowed.page("github").unwrap(), "local plugins.p github");
        assert!(allowed.connected("github").await.unwrap());
        let denied = |error| matches!(error, ConnectionError::Denied(_));
        for (accounts, name) in
            [(accounts(github, ""), "github"), (accounts("", github), "github"), (allowed, "gitlab")]
        {
            assert!(denied(accounts.page(name).unwrap_err()));
            assert!(denied(accounts.connected(name).await.unwrap_err()));
            assert!(denied(accounts.wait_connected(name).await.unwrap_err()));
            assert!(denied(accounts.send(name, ConnectionRequest::default()).await.unwrap_err()));
        }
    }
}
