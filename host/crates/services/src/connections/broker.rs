//! Connecting an account: the pages, the OAuth flow, and the exchange of its code.

use super::credential::{CredentialError, request_credential};
use super::pages::{self, ConnectPurpose, FlowError, FlowStart, Pages};
use super::seal::Seal;
use super::settings::ConnectionSettings;
use platform::clock::Clock;
use platform::files::read_key_file;
use platform::outbound::{ClientBuildError, OutboundClient};
use platform::random::random_text;
use platform::storage::{TokenStore, TokenStoreError};
use std::collections::BTreeMap;
use std::hash::RandomState;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use url::Url;

/// Locks that keep two calls from renewing one credential at once. Chosen by hash, so that their number is bounded.
pub(super) const LOCKS: usize = 64;

/// OAuth redirect path, below the public address.
pub const CALLBACK_PATH: &str = "/oauth/callback";
/// Path on which users connect accounts.
pub const CONNECT_PATH: &str = "/connect";

/// The configured connections cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    #[error(transparent)]
    Tokens(#[from] TokenStoreError),
    #[error(transparent)]
    Outbound(#[from] ClientBuildError),
    #[error("[connections.{name}] client-secret-file {path}: {source}")]
    Secret { name: String, path: PathBuf, source: std::io::Error },
    #[error("the key of connected accounts, {path}: {source}")]
    Key { path: PathBuf, source: std::io::Error },
}

/// Why a browser cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectPageError {
    /// There is no such page, or it has expired.
    Unknown,
    /// The page belongs to another browser or person.
    OtherBrowser,
    /// The provider or its user declined; an OAuth error code.
    Declined(String),
    /// The log has the reason.
    Failed,
}

pub(super) struct Account {
    pub(super) settings: ConnectionSettings,
    pub(super) secret: Option<String>,
}

pub struct ConnectionBroker {
    pub(super) accounts: BTreeMap<String, Account>,
    public: OnceLock<Url>,
    pub(super) pages: Pages,
    pub(super) tokens: TokenStore,
    pub(super) seal: Seal,
    pub(super) outbound: OutboundClient,
    clock: Arc<dyn Clock>,
    /// The number of connected accounts; changes wake waiting calls.
    pub(super) connected: watch::Sender<u64>,
    pub(super) renewal_locks: Vec<Mutex<()>>,
    pub(super) lock_hasher: RandomState,
}

impl ConnectionBroker {
    /// Stores credentials in `folder`. Blocks.
    pub fn open(
        settings: &BTreeMap<String, ConnectionSettings>,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, BrokerError> {
        let tokens = TokenStore::open(folder)?;
        let path = folder.join("connections.key");
        let seal = Seal::open(&path).map_err(|source| BrokerError::Key { path, source })?;
        let mut accounts = BTreeMap::new();
        for (name, settings) in settings {
            let secret = match &settings.client_secret_file {
                None => None,
                Some(path) => {
                    let read = read_key_file(path, "the client secret of a connection", u64::MAX);
                    let fail = |source| BrokerError::Secret { name: name.clone(), path: path.clone(), source };
                    Some(read.map_err(fail)?.trim().to_owned())
                }
            };
            accounts.insert(name.clone(), Account { settings: settings.clone(), secret });
        }
        Ok(Self {
            accounts,
            public: OnceLock::new(),
            pages: Pages::new(clock.clone()),
            tokens,
            seal,
            outbound: OutboundClient::new()?,
            clock,
            connected: watch::Sender::new(0),
            renewal_locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
            lock_hasher: RandomState::new(),
        })
    }

    /// Sets the address at which browsers reach this host. Later calls have no effect.
    pub fn set_public_url(&self, url: Url) {
        let _ = self.public.set(url);
    }

    pub fn public(&self) -> Option<&Url> {
        self.public.get()
    }

    /// A random cookie value for the time of a page.
    pub fn new_cookie(&self) -> std::io::Result<String> {
        random_text::<32>()
    }

    pub fn lifetime(&self) -> Duration {
        pages::LIFETIME
    }

    pub fn page(&self, id: &str, browser: &str) -> Result<(ConnectPurpose, &ConnectionSettings), ConnectPageError> {
        let purpose = self.pages.get(id, browser)?;
        let account = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        Ok((purpose, &account.settings))
    }

    /// The user continues; returns where to send the browser.
    pub fn start(&self, id: &str, browser: &str) -> Result<Url, ConnectPageError> {
        let started = self.pages.start(id, browser).map_err(|error| log_failure(&error))?;
        let FlowStart { purpose, state, challenge } = started?;
        let account = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        let mut url = account.settings.authorize.url().clone();
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &account.settings.client_id);
        query.append_pair("redirect_uri", &self.callback().ok_or(ConnectPageError::Failed)?);
        if !account.settings.scopes.is_empty() {
            query.append_pair("scope", &account.settings.scopes.join(" "));
        }
        query.append_pair("state", &state);
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        drop(query);
        Ok(url)
    }

    /// The flow of an OAuth `state`, if this browser started it.
    pub fn find_flow(&self, state: &str, browser: &str) -> Result<ConnectPurpose, ConnectPageError> {
        Ok(self.pages.find_flow(state, browser)?)
    }

    /// The provider has sent the browser back. The flow is over in any case.
    pub async fn finish(
        &self,
        state: &str,
        browser: &str,
        issuer: Option<&str>,
        answer: Result<&str, &str>,
    ) -> Result<ConnectPurpose, ConnectPageError> {
        let (purpose, verifier) = self.pages.finish(state, browser)?;
        let Account { settings, secret } = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        let name = &purpose.connection;
        if let (Some(actual), Some(expected)) = (issuer, &settings.issuer)
            && actual != expected
        {
            tracing::warn!(connection = name, "the browser came back from another issuer than {expected}");
            return Err(ConnectPageError::Failed);
        }
        let code = answer.map_err(|error| ConnectPageError::Declined(error.to_owned()))?;
        let callback = self.callback().ok_or(ConnectPageError::Failed)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback.as_str()),
            ("code_verifier", verifier.as_str()),
        ];
        let requested = request_credential(&self.outbound, settings, secret.as_deref(), &fields, self.now()).await;
        let credential = requested.map_err(|error| {
            tracing::warn!(connection = name, principal = %purpose.principal, "an account was not connected: {error:?}");
            match error {
                CredentialError::Refused(word) => ConnectPageError::Declined(word),
                CredentialError::Failed(_) | CredentialError::Timeout(_) => ConnectPageError::Failed,
            }
        })?;
        self.store_credential(&purpose.principal, name, settings, &credential)
            .await
            .map_err(|error| log_failure(&error))?;
        tracing::info!(connection = name, principal = %purpose.principal, plugin = %purpose.plugin, "an account was connected");
        self.connected.send_modify(|count| *count += 1);
        Ok(purpose)
    }

    fn callback(&self) -> Option<String> {
        Some(format!("{}{CALLBACK_PATH}", self.public()?.as_str().trim_end_matches('/')))
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.unix().as_secs()
    }
}

fn log_failure(error: &dyn std::fmt::Display) -> ConnectPageError {
    tracing::error!("an account was not connected: {error}");
    ConnectPageError::Failed
}

impl From<FlowError> for ConnectPageError {
    fn from(lost: FlowError) -> Self {
        match lost {
            FlowError::Unknown => ConnectPageError::Unknown,
            FlowError::OtherBrowser => ConnectPageError::OtherBrowser,
        }
    }
}
