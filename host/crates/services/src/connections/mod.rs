//! The broker of connected accounts: users agree in their browser, the credential stays here, sealed, and plugins have
//! requests sent with it.
//!
//! A connection belongs to a principal. What is certain about the browser that connects it: it is one browser from
//! "continue" to the end (its cookie, and `state` bound to it), and it came by an address that only the requester was
//! given. Over HTTP with API keys it has also shown the requester's key, or its proxy did. Not certain: with OAuth the
//! browser shows nothing, so the page names who asked and a person has to notice; without any identity all clients are one
//! principal, and an account connected by one is everybody's.

mod credential;
mod pages;
mod request;
mod seal;
mod settings;

pub use pages::{Lost, Purpose};
pub use settings::ConnectionSettings;

use async_trait::async_trait;
use credential::{Credential, NoCredential, millis, obtain};
use pages::{Pages, Start};
use platform::clock::Clock;
use platform::outbound::header::{AUTHORIZATION, HeaderValue};
use platform::outbound::{Ask, AskError, Outbound, OutboundError};
use platform::storage::{Tokens, TokensError};
use platform::telemetry::printable;
use policy::{PluginId, Principal};
use runtime::imports::{ConnectionError, ConnectionRequest, ConnectionResponse, Connections};
use seal::Seal;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use url::Url;

/// One request of a plugin, from connecting to the last byte.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Locks that keep two calls from renewing one credential at once; which one is a matter of chance, so that their number
/// is bounded.
const LOCKS: usize = 64;

/// Where the provider sends browsers back to, below the public address.
pub const CALLBACK: &str = "/oauth/callback";
/// Where users connect accounts, likewise.
pub const CONNECT: &str = "/connect";

/// Accounts cannot be connected as configured.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum BrokerError {
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error("[connections.{name}] client-secret-file {path}: {source}")]
    Secret { name: String, path: PathBuf, source: std::io::Error },
    #[error("the key of connected accounts, {path}: {source}")]
    Key { path: PathBuf, source: std::io::Error },
}

/// Why a browser is not let on. The words are for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotConnected {
    /// There is no such page (any more).
    Unknown,
    /// It is another browser's or another person's.
    Foreign,
    /// The provider or its user said no; a word of the standard.
    Refused(String),
    /// Something failed, which is in the log.
    Failed,
}

struct Account {
    settings: ConnectionSettings,
    secret: Option<String>,
}

/// The broker.
pub struct Broker {
    accounts: BTreeMap<String, Account>,
    public: OnceLock<Url>,
    pages: Pages,
    tokens: Tokens,
    seal: Seal,
    outbound: Outbound,
    clock: Arc<dyn Clock>,
    /// Counts accounts that were connected.
    connected: watch::Sender<u64>,
    renewing: Vec<Mutex<()>>,
    chance: RandomState,
}

impl Broker {
    /// For the configured connections, with credentials in this folder. Blocks.
    pub fn open(
        settings: &BTreeMap<String, ConnectionSettings>,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, BrokerError> {
        let tokens = Tokens::open(folder)?;
        let path = folder.join("connections.key");
        let seal = Seal::open(&path).map_err(|source| BrokerError::Key { path, source })?;
        let mut accounts = BTreeMap::new();
        for (name, settings) in settings {
            let secret = match &settings.client_secret_file {
                None => None,
                Some(path) => {
                    let read = std::fs::read_to_string(path);
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
            outbound: Outbound::new()?,
            clock,
            connected: watch::Sender::new(0),
            renewing: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
            chance: RandomState::new(),
        })
    }

    /// Says at which address browsers reach this host. The first word counts.
    pub fn set_public(&self, url: Url) {
        let _ = self.public.set(url);
    }

    /// The address at which browsers reach this host.
    pub fn public(&self) -> Option<&Url> {
        self.public.get()
    }

    /// Text that a browser keeps for the time of a page.
    pub fn new_cookie(&self) -> std::io::Result<String> {
        pages::text()
    }

    /// How long a page is good.
    pub fn lifetime(&self) -> Duration {
        pages::LIFETIME
    }

    /// What a page is for, and its connection.
    pub fn look(&self, id: &str, browser: &str) -> Result<(Purpose, &ConnectionSettings), NotConnected> {
        let purpose = self.pages.look(id, browser)?;
        let account = self.accounts.get(&purpose.connection).ok_or(NotConnected::Unknown)?;
        Ok((purpose, &account.settings))
    }

    /// The user goes on: where to send the browser.
    pub fn start(&self, id: &str, browser: &str) -> Result<Url, NotConnected> {
        let started = self.pages.start(id, browser).map_err(|error| failed(&error))?;
        let Start { purpose, state, challenge } = started?;
        let account = self.accounts.get(&purpose.connection).ok_or(NotConnected::Unknown)?;
        let mut url = account.settings.authorize.url().clone();
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &account.settings.client_id);
        query.append_pair("redirect_uri", &self.callback().ok_or(NotConnected::Failed)?);
        if !account.settings.scopes.is_empty() {
            query.append_pair("scope", &account.settings.scopes.join(" "));
        }
        query.append_pair("state", &state);
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        drop(query);
        Ok(url)
    }

    /// Whose flow this is, if it is this browser's.
    pub fn of_state(&self, state: &str, browser: &str) -> Result<Purpose, NotConnected> {
        Ok(self.pages.of_state(state, browser)?)
    }

    /// The provider has sent the browser back. However it ends, this flow is over.
    pub async fn finish(
        &self,
        state: &str,
        browser: &str,
        issuer: Option<&str>,
        answer: Result<&str, &str>,
    ) -> Result<Purpose, NotConnected> {
        let (purpose, verifier) = self.pages.finish(state, browser)?;
        let Account { settings, secret } = self.accounts.get(&purpose.connection).ok_or(NotConnected::Unknown)?;
        let name = &purpose.connection;
        if let (Some(said), Some(expected)) = (issuer, &settings.issuer)
            && said != expected
        {
            tracing::warn!(connection = name, "the browser came back from another issuer than {expected}");
            return Err(NotConnected::Failed);
        }
        let code = answer.map_err(|error| NotConnected::Refused(error.to_owned()))?;
        let callback = self.callback().ok_or(NotConnected::Failed)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback.as_str()),
            ("code_verifier", verifier.as_str()),
        ];
        let got = obtain(&self.outbound, settings, secret.as_deref(), &fields, self.now()).await;
        let credential = got.map_err(|error| {
            tracing::warn!(connection = name, principal = %purpose.principal, "an account was not connected: {error:?}");
            match error {
                NoCredential::Refused(word) => NotConnected::Refused(word),
                NoCredential::Failed(_) | NoCredential::Timeout(_) => NotConnected::Failed,
            }
        })?;
        self.keep(&purpose.principal, name, settings, &credential).await.map_err(|error| failed(&error))?;
        tracing::info!(connection = name, principal = %purpose.principal, plugin = %purpose.plugin, "an account was connected");
        self.connected.send_modify(|count| *count += 1);
        Ok(purpose)
    }

    fn callback(&self) -> Option<String> {
        Some(format!("{}{CALLBACK}", self.public()?.as_str().trim_end_matches('/')))
    }

    fn now(&self) -> u64 {
        self.clock.unix().as_secs()
    }

    fn account(&self, name: &str) -> Result<&Account, ConnectionError> {
        self.accounts.get(name).ok_or_else(|| {
            let name = printable(name);
            ConnectionError::Invalid(format!("no account `{name}` is configured; it would be [connections.{name}]"))
        })
    }

    async fn keep(
        &self,
        principal: &Principal,
        name: &str,
        settings: &ConnectionSettings,
        credential: &Credential,
    ) -> Result<(), String> {
        let text = serde_json::to_vec(credential).map_err(|error| error.to_string())?;
        let sealed = self.seal.seal(&text, &bound(principal, name, settings)).map_err(|error| error.to_string())?;
        self.tokens.put(principal.as_str(), name, sealed).await.map_err(|error| error.to_string())
    }

    /// The credential that is kept, as it is and sealed.
    async fn kept(
        &self,
        principal: &Principal,
        name: &str,
        settings: &ConnectionSettings,
    ) -> Result<(Credential, Vec<u8>), ConnectionError> {
        let sealed = self.tokens.get(principal.as_str(), name).await.map_err(unkept)?;
        let sealed = sealed.ok_or(ConnectionError::NotConnected)?;
        let opened = self.seal.unseal(&sealed, &bound(principal, name, settings));
        let credential = opened.and_then(|text| serde_json::from_slice(&text).ok());
        // Sealed under another key, or for other addresses: as good as none.
        Ok((credential.ok_or(ConnectionError::NotConnected)?, sealed))
    }

    /// A credential that is good now. `bad` is one that was not.
    async fn current(
        &self,
        principal: &Principal,
        name: &str,
        account: &Account,
        bad: Option<&str>,
    ) -> Result<Credential, ConnectionError> {
        let Account { settings, secret } = account;
        let good = |credential: &Credential| !credential.is_old(self.now()) && bad != Some(credential.access.as_str());
        let (credential, _) = self.kept(principal, name, settings).await?;
        if good(&credential) {
            return Ok(credential);
        }
        let place = self.chance.hash_one((principal, name)) as usize % LOCKS;
        let _renewing = self.renewing[place].lock().await;
        // Somebody else may have renewed it meanwhile; a refresh token is often good for one use only.
        let (credential, sealed) = self.kept(principal, name, settings).await?;
        if good(&credential) {
            return Ok(credential);
        }
        let Some(refresh) = &credential.refresh else {
            self.tokens.remove(principal.as_str(), name, sealed).await.map_err(unkept)?;
            return Err(ConnectionError::NotConnected);
        };
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        match obtain(&self.outbound, settings, secret.as_deref(), &fields, self.now()).await {
            Ok(mut renewed) => {
                renewed.refresh = renewed.refresh.or(credential.refresh);
                self.keep(principal, name, settings, &renewed).await.map_err(ConnectionError::Failed)?;
                Ok(renewed)
            }
            Err(NoCredential::Refused(word)) => {
                tracing::info!(connection = name, %principal, "an account has to be connected again: {word}");
                self.tokens.remove(principal.as_str(), name, sealed).await.map_err(unkept)?;
                Err(ConnectionError::NotConnected)
            }
            Err(NoCredential::Failed(reason)) => Err(ConnectionError::Failed(reason)),
            Err(NoCredential::Timeout(ms)) => Err(ConnectionError::Timeout(ms)),
        }
    }
}

/// What a credential's seal is bound to.
fn bound<'a>(principal: &'a Principal, name: &'a str, settings: &'a ConnectionSettings) -> [&'a str; 4] {
    [principal.as_str(), name, settings.api.as_str(), settings.token.as_str()]
}

fn unkept(error: TokensError) -> ConnectionError {
    tracing::error!("{error}");
    ConnectionError::Failed("the host's store of accounts cannot be used".into())
}

fn failed(error: &dyn std::fmt::Display) -> NotConnected {
    tracing::error!("an account was not connected: {error}");
    NotConnected::Failed
}

impl From<Lost> for NotConnected {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Unknown => NotConnected::Unknown,
            Lost::Foreign => NotConnected::Foreign,
        }
    }
}

#[async_trait]
impl Connections for Broker {
    fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError> {
        self.account(name)?;
        let public = self.public().ok_or_else(|| {
            ConnectionError::Failed("this host serves no pages at the moment, so nothing can be connected".into())
        })?;
        let purpose = Purpose { principal: principal.clone(), plugin: plugin.clone(), connection: name.to_owned() };
        let id = self.pages.make(purpose).map_err(|error| ConnectionError::Failed(error.to_string()))?;
        Ok(format!("{}{CONNECT}?e={id}", public.as_str().trim_end_matches('/')))
    }

    async fn is_connected(&self, principal: &Principal, name: &str) -> Result<bool, ConnectionError> {
        let account = self.account(name)?;
        match self.kept(principal, name, &account.settings).await {
            Ok((credential, _)) => Ok(credential.refresh.is_some() || !credential.is_old(self.now())),
            Err(ConnectionError::NotConnected) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn wait_connected(&self, principal: &Principal, name: &str) -> Result<(), ConnectionError> {
        let mut connected = self.connected.subscribe();
        while !self.is_connected(principal, name).await? {
            // The sender is in `self`, so waiting cannot fail.
            let _ = connected.changed().await;
        }
        Ok(())
    }

    async fn send(
        &self,
        principal: &Principal,
        name: &str,
        request: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError> {
        let account = self.account(name)?;
        let checked = request::check(account.settings.api.url(), request).map_err(ConnectionError::Invalid)?;
        let mut credential = self.current(principal, name, account, None).await?;
        let mut renewed = false;
        loop {
            let mut headers = checked.headers.clone();
            let bearer = HeaderValue::from_str(&format!("Bearer {}", credential.access));
            let mut bearer = bearer.map_err(|_| ConnectionError::NotConnected)?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
            let (method, url, body) = (checked.method.clone(), checked.url.clone(), checked.body.clone());
            let ask = Ask { method, url, headers, body, timeout: TIMEOUT, max_body: request::MAX_RESPONSE };
            let told = self.outbound.ask(ask).await.map_err(|error| match error {
                AskError::Timeout(_, after) => ConnectionError::Timeout(millis(after)),
                AskError::TooLarge(..) | AskError::Unreachable(..) => ConnectionError::Failed(error.to_string()),
            })?;
            // The credential is not good after all: once with another one, which may be the end of the account.
            if told.status == 401 && !renewed {
                renewed = true;
                credential = self.current(principal, name, account, Some(&credential.access)).await?;
                continue;
            }
            return request::pass_on(told, &credential.secrets()).map_err(|reason| {
                tracing::warn!(connection = name, %principal, "{reason}");
                ConnectionError::Failed(reason)
            });
        }
    }
}
