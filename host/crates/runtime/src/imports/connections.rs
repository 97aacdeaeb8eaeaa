//! `connections`: accounts that users have connected. The host holds the credentials; a guest names an account and says
//! what to send, and never sees what makes the other server believe it.

use super::{Budgeted, CallContext, Exhaustion, GuestDenial, Permit};
use async_trait::async_trait;
use platform::telemetry::printable;
use policy::{Hearer, Limits, Lineage, PluginId, Principal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One HTTP request below an account's base address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionRequest {
    /// Such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// In order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the other server answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionResponse {
    /// Such as 200.
    pub status: u16,
    /// Those that are the plugin's business.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl ConnectionResponse {
    /// Bytes that go to the guest.
    pub fn size(&self) -> u64 {
        size(&self.headers, &self.body)
    }
}

impl ConnectionRequest {
    /// Bytes that came from the guest.
    pub fn size(&self) -> u64 {
        size(&self.headers, &self.body) + self.path.len() as u64
    }
}

fn size(headers: &[(String, String)], body: &[u8]) -> u64 {
    headers.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum::<u64>() + body.len() as u64
}

/// Why an account could not be used.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionError {
    /// Not granted.
    Denied(GuestDenial),
    /// The principal has not connected it, or has to do it again.
    NotConnected,
    /// There is no such account, or the request is none that may be sent.
    Invalid(String),
    /// A ceiling.
    Exhausted(Exhaustion),
    /// Milliseconds.
    Timeout(u64),
    /// The other server could not be reached or misbehaved, or the host could not keep what it must.
    Failed(String),
}

/// Holds the credentials. Implemented by `connections`.
#[async_trait]
pub trait Connections: Send + Sync {
    /// A new page on which this principal can connect an account, for once and for some minutes. The plugin is named on
    /// it.
    fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError>;
    /// Whether the account is connected.
    async fn is_connected(&self, principal: &Principal, name: &str) -> Result<bool, ConnectionError>;
    /// Waits until it is; whoever asks bounds how long.
    async fn wait_connected(&self, principal: &Principal, name: &str) -> Result<(), ConnectionError>;
    /// Sends one request with the account's credentials.
    async fn send(
        &self,
        principal: &Principal,
        name: &str,
        request: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError>;
}

/// A host without any.
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

/// One call's way to the accounts of its principal.
#[derive(Clone)]
pub struct Accounts {
    permit: Permit,
    principal: Principal,
    connections: Arc<dyn Connections>,
    lineage: Lineage,
    limit: u32,
    sent: Arc<AtomicU32>,
}

impl Accounts {
    /// For a call under this authority and these limits, at the end of `lineage`.
    pub fn new(
        permit: impl Into<Permit>,
        limits: &Limits,
        call: &CallContext,
        lineage: Lineage,
        connections: Arc<dyn Connections>,
    ) -> Self {
        let (principal, limit) = (call.principal.clone(), limits.calls);
        Self { permit: permit.into(), principal, connections, lineage, limit, sent: Arc::default() }
    }

    /// The page on which the call's user connects an account.
    pub fn page(&self, name: &str) -> Result<String, ConnectionError> {
        self.granted(name)?;
        self.connections.page(&self.principal, self.permit.plugin(), name)
    }

    /// Whether the call's user has connected an account.
    pub async fn connected(&self, name: &str) -> Result<bool, ConnectionError> {
        self.granted(name)?;
        self.connections.is_connected(&self.principal, name).await
    }

    /// Waits until the call's user has connected an account; whoever asks bounds how long.
    pub async fn wait_connected(&self, name: &str) -> Result<(), ConnectionError> {
        self.granted(name)?;
        self.connections.wait_connected(&self.principal, name).await
    }

    /// Sends a request as the call's user.
    pub async fn send(&self, name: &str, request: ConnectionRequest) -> Result<ConnectionResponse, ConnectionError> {
        self.granted(name)?;
        self.may_tell(&Hearer::Connection(name.to_owned())).map_err(ConnectionError::Denied)?;
        // The other server has limits too, and counts them against the user.
        if self.sent.fetch_add(1, Ordering::Relaxed) >= self.limit {
            let limit = self.limit.into();
            return Err(ConnectionError::Exhausted(Exhaustion { budget: Budgeted::Calls, limit }));
        }
        self.connections.send(&self.principal, name, request).await
    }

    /// Whether somebody outside may be told what the call knows.
    pub(super) fn may_tell(&self, hearer: &Hearer) -> Result<(), GuestDenial> {
        self.permit.decided(self.permit.flow(&self.lineage.secrets(), hearer))
    }

    fn granted(&self, name: &str) -> Result<(), ConnectionError> {
        self.permit.decided(self.permit.connection(name)).map_err(ConnectionError::Denied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Authority, Grants, Requests, Side};

    /// Says yes to everything; what it is asked has passed the checks.
    struct Yes;

    #[async_trait]
    impl Connections for Yes {
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
        let limits = Limits { calls: 2, ..Limits::default() };
        let lineage = Lineage::root("plugins.p.x".into(), &limits);
        Accounts::new(authority, &limits, &CallContext::new("local"), lineage, Arc::new(Yes))
    }

    #[tokio::test]
    async fn requests_of_a_call_are_counted() {
        let github = r#"connections = ["github"]"#;
        let accounts = accounts(github, github);
        let send = || accounts.send("github", ConnectionRequest::default());
        assert!(send().await.is_ok() && send().await.is_ok());
        let exhausted = Exhaustion { budget: Budgeted::Calls, limit: 2 };
        assert_eq!(send().await, Err(ConnectionError::Exhausted(exhausted)));
    }

    #[tokio::test]
    async fn a_private_result_does_not_reach_an_account() {
        let github = r#"connections = ["github"]"#;
        let closed = accounts(github, github);
        closed.lineage.confide(policy::Origin::Client);
        let sent = closed.send("github", ConnectionRequest::default()).await;
        assert!(matches!(sent, Err(ConnectionError::Denied(denial)) if denial.capability == "flows"));
        let open = accounts(
            github,
            r#"connections = ["github"]
            flows = ["client -> connections.github"]"#,
        );
        open.lineage.confide(policy::Origin::Client);
        assert!(open.send("github", ConnectionRequest::default()).await.is_ok());
    }

    #[tokio::test]
    async fn both_keys_are_needed_for_everything() {
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
