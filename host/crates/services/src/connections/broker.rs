//! Connecting an account: the pages, the OAuth flow, and the exchange of its code.

use super::credential::{Credential, CredentialError};
use super::error::{BrokerError, ConnectPageError, log_failure};
use super::oauth_client::{FlowAnswer, OAuthClient};
use super::pages::{self, ConnectPurpose, Pages};
use super::seal::Seal;
use super::settings::ConnectionSettings;
use platform::clock::Clock;
use platform::identity::OAuthSettings;
use platform::outbound::OutboundClient;
use platform::random::random_text;
use platform::storage::TokenStore;
use std::collections::BTreeMap;
use std::hash::RandomState;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use url::Url;

/// Locks that keep two calls from renewing one credential at once. A credential's lock is chosen by hash, so that their number
/// is bounded.
pub(super) const LOCKS: usize = 64;

/// OAuth redirect path, below the public address.
pub const CALLBACK_PATH: &str = "/oauth/callback";
/// Path on which users connect accounts.
pub const CONNECT_PATH: &str = "/connect";

pub(super) struct Account {
    pub(super) settings: ConnectionSettings,
    pub(super) client: OAuthClient,
}

/// A page, for the browser that has opened it.
pub struct OpenPage<'a> {
    pub purpose: ConnectPurpose,
    pub settings: &'a ConnectionSettings,
    /// Whether it belongs to this browser: its user has proved who they are, or no proof is required.
    pub is_owned: bool,
}

pub struct ConnectionBroker {
    pub(super) accounts: BTreeMap<String, Account>,
    pub(super) login: Option<OAuthClient>,
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
    /// Stores credentials in `folder`. If there is an issuer, users log in there, as its settings say. Blocks.
    pub fn open(
        settings: &BTreeMap<String, ConnectionSettings>,
        issuer: Option<&OAuthSettings>,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, BrokerError> {
        let tokens = TokenStore::open(folder)?;
        let path = folder.join("connections.key");
        let seal = Seal::open(&path).map_err(|source| BrokerError::Key { path, source })?;
        let mut accounts = BTreeMap::new();
        for (name, settings) in settings {
            let client = OAuthClient::of_connection(name, settings)?;
            accounts.insert(name.clone(), Account { settings: settings.clone(), client });
        }
        let login = issuer.and_then(|oauth| Some((oauth, oauth.login.as_ref()?)));
        let login = login.map(|(oauth, login)| OAuthClient::of_issuer(oauth, login)).transpose()?;
        Ok(Self {
            accounts,
            login,
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

    /// A random cookie value for the lifetime of a page.
    pub fn new_cookie(&self) -> std::io::Result<String> {
        random_text::<32>()
    }

    pub fn lifetime(&self) -> Duration {
        pages::LIFETIME
    }

    pub fn page(&self, id: &str, browser: &str) -> Result<OpenPage<'_>, ConnectPageError> {
        let (purpose, is_owned) = self.pages.get(id, browser)?;
        let account = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        Ok(OpenPage { purpose, settings: &account.settings, is_owned })
    }

    /// Starts the flow when the user continues; returns where to send the browser.
    pub fn start(&self, id: &str, browser: &str) -> Result<Url, ConnectPageError> {
        let started = self.pages.start(id, browser).map_err(|error| log_failure(&error))?;
        let (purpose, start) = started?;
        let account = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        Ok(account.client.authorize_url(&start, &self.address(CALLBACK_PATH)?))
    }

    /// The flow of an OAuth `state`, if this browser started it.
    pub fn find_flow(&self, state: &str, browser: &str) -> Result<ConnectPurpose, ConnectPageError> {
        Ok(self.pages.find_flow(state, browser)?)
    }

    /// Ends the flow when the provider has sent the browser back. The flow is over whatever the answer is.
    pub async fn finish(
        &self,
        state: &str,
        browser: &str,
        answer: FlowAnswer,
    ) -> Result<ConnectPurpose, ConnectPageError> {
        let (purpose, verifier) = self.pages.finish(state, browser)?;
        let Account { settings, client } = self.accounts.get(&purpose.connection).ok_or(ConnectPageError::Unknown)?;
        let name = &purpose.connection;
        let credential = self.redeem(client, answer, &verifier, CALLBACK_PATH, &purpose).await?;
        self.store_credential(&purpose.principal, name, settings, &credential)
            .await
            .map_err(|error| log_failure(&error))?;
        tracing::info!(connection = name, principal = %purpose.principal, plugin = %purpose.plugin, "an account was connected");
        self.connected.send_modify(|count| *count += 1);
        Ok(purpose)
    }

    /// The credential for the code with which a browser came back to `path`.
    pub(super) async fn redeem(
        &self,
        client: &OAuthClient,
        answer: FlowAnswer,
        verifier: &str,
        path: &str,
        purpose: &ConnectPurpose,
    ) -> Result<Credential, ConnectPageError> {
        let ConnectPurpose { principal, connection, .. } = purpose;
        if let (Some(actual), Some(expected)) = (&answer.issuer, &client.issuer)
            && actual != expected
        {
            tracing::warn!(connection, "the browser came back from another issuer than {expected}");
            return Err(ConnectPageError::Failed);
        }
        let code = answer.code.map_err(ConnectPageError::Declined)?;
        let callback = self.address(path)?;
        client.redeem(&self.outbound, &code, verifier, &callback, self.now()).await.map_err(|error| {
            tracing::warn!(connection, %principal, "an account was not connected: {error:?}");
            match error {
                CredentialError::Refused(word) => ConnectPageError::Declined(word),
                CredentialError::Failed(_) | CredentialError::Timeout(_) => ConnectPageError::Failed,
            }
        })
    }

    /// The address at which browsers reach a path of this host.
    pub(super) fn address(&self, path: &str) -> Result<String, ConnectPageError> {
        let public = self.public().ok_or(ConnectPageError::Failed)?;
        Ok(format!("{}{path}", public.as_str().trim_end_matches('/')))
    }

    pub(super) fn page_address(&self, id: &str) -> Result<String, ConnectPageError> {
        Ok(format!("{}?e={id}", self.address(CONNECT_PATH)?))
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.unix().as_secs()
    }
}
