//! Using connected accounts: stored credentials, their renewal, and requests sent with them.

use super::broker::{Account, ConnectionBroker, LOCKS};
use super::credential::{Credential, CredentialError};
use super::oauth_client::millis;
use super::pages::ConnectPurpose;
use super::request;
use super::settings::ConnectionSettings;
use async_trait::async_trait;
use platform::outbound::header::{AUTHORIZATION, HeaderValue};
use platform::outbound::{OutboundError, OutboundRequest};
use platform::storage::TokenStoreError;
use platform::telemetry::printable;
use policy::{PluginId, Principal};
use runtime::imports::{ConnectionError, ConnectionRequest, ConnectionResponse, Connections};
use std::hash::BuildHasher;
use std::time::Duration;

/// Timeout of one request, from connecting to the last byte.
const TIMEOUT: Duration = Duration::from_secs(30);
impl ConnectionBroker {
    fn account(&self, name: &str) -> Result<&Account, ConnectionError> {
        self.accounts.get(name).ok_or_else(|| {
            let name = printable(name);
            ConnectionError::Invalid(format!("no account `{name}` is configured; it would be [connections.{name}]"))
        })
    }

    pub(super) async fn store_credential(
        &self,
        principal: &Principal,
        name: &str,
        settings: &ConnectionSettings,
        credential: &Credential,
    ) -> Result<(), String> {
        let text = serde_json::to_vec(credential).map_err(|error| error.to_string())?;
        let sealed =
            self.seal.seal(&text, &seal_context(principal, name, settings)).map_err(|error| error.to_string())?;
        self.tokens.put(principal.as_str(), name, sealed).await.map_err(|error| error.to_string())
    }

    /// The stored credential, opened and sealed.
    async fn stored_credential(
        &self,
        principal: &Principal,
        name: &str,
        settings: &ConnectionSettings,
    ) -> Result<(Credential, Vec<u8>), ConnectionError> {
        let sealed = self.tokens.get(principal.as_str(), name).await.map_err(store_failed)?;
        let sealed = sealed.ok_or(ConnectionError::NotConnected)?;
        let opened = self.seal.unseal(&sealed, &seal_context(principal, name, settings));
        let credential = opened.and_then(|text| serde_json::from_slice(&text).ok());
        // If it is sealed with another key or for other addresses, it counts as missing.
        Ok((credential.ok_or(ConnectionError::NotConnected)?, sealed))
    }

    /// A valid credential, renewed if necessary. `bad` is an access token that the server has refused.
    async fn valid_credential(
        &self,
        principal: &Principal,
        name: &str,
        account: &Account,
        bad: Option<&str>,
    ) -> Result<Credential, ConnectionError> {
        let Account { settings, client } = account;
        let good =
            |credential: &Credential| !credential.needs_renewal(self.now()) && bad != Some(credential.access.as_str());
        let (credential, _) = self.stored_credential(principal, name, settings).await?;
        if good(&credential) {
            return Ok(credential);
        }
        let place = self.lock_hasher.hash_one((principal, name)) as usize % LOCKS;
        let _renewing = self.renewal_locks[place].lock().await;
        // Another call may have renewed it meanwhile; many refresh tokens can be used only once.
        let (credential, sealed) = self.stored_credential(principal, name, settings).await?;
        if good(&credential) {
            return Ok(credential);
        }
        let Some(refresh) = &credential.refresh else {
            self.tokens.remove(principal.as_str(), name, sealed).await.map_err(store_failed)?;
            return Err(ConnectionError::NotConnected);
        };
        match client.renew(&self.outbound, refresh, self.now()).await {
            Ok(mut renewed) => {
                renewed.refresh = renewed.refresh.or(credential.refresh);
                self.store_credential(principal, name, settings, &renewed).await.map_err(ConnectionError::Failed)?;
                Ok(renewed)
            }
            Err(CredentialError::Refused(word)) => {
                tracing::info!(connection = name, %principal, "an account has to be connected again: {word}");
                self.tokens.remove(principal.as_str(), name, sealed).await.map_err(store_failed)?;
                Err(ConnectionError::NotConnected)
            }
            Err(CredentialError::Failed(reason)) => Err(ConnectionError::Failed(reason)),
            Err(CredentialError::Timeout(ms)) => Err(ConnectionError::Timeout(ms)),
        }
    }
}

/// What a credential's seal authenticates besides its content.
fn seal_context<'a>(principal: &'a Principal, name: &'a str, settings: &'a ConnectionSettings) -> [&'a str; 4] {
    [principal.as_str(), name, settings.api.as_str(), settings.token.as_str()]
}

fn store_failed(error: TokenStoreError) -> ConnectionError {
    tracing::error!("{error}");
    ConnectionError::Failed("the host's store of accounts cannot be used".into())
}

#[async_trait]
impl Connections for ConnectionBroker {
    fn page(&self, principal: &Principal, plugin: &PluginId, name: &str) -> Result<String, ConnectionError> {
        self.account(name)?;
        let purpose =
            ConnectPurpose { principal: principal.clone(), plugin: plugin.clone(), connection: name.to_owned() };
        let id = self.pages.create(purpose).map_err(|error| ConnectionError::Failed(error.to_string()))?;
        self.page_address(&id).map_err(|_| {
            ConnectionError::Failed("this host serves no pages at the moment, so nothing can be connected".into())
        })
    }

    async fn is_connected(&self, principal: &Principal, name: &str) -> Result<bool, ConnectionError> {
        let account = self.account(name)?;
        match self.stored_credential(principal, name, &account.settings).await {
            Ok((credential, _)) => Ok(credential.refresh.is_some() || !credential.needs_renewal(self.now())),
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
        let mut credential = self.valid_credential(principal, name, account, None).await?;
        let mut retried = false;
        loop {
            let mut headers = checked.headers.clone();
            let bearer = HeaderValue::from_str(&format!("Bearer {}", credential.access));
            let mut bearer = bearer.map_err(|_| ConnectionError::NotConnected)?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
            let (method, url, body) = (checked.method.clone(), checked.url.clone(), checked.body.clone());
            let ask = OutboundRequest { method, url, headers, body, timeout: TIMEOUT, max_body: request::MAX_RESPONSE };
            let response = self.outbound.ask(ask).await.map_err(|error| match error {
                OutboundError::Timeout(_, after) => ConnectionError::Timeout(millis(after)),
                OutboundError::TooLarge(..) | OutboundError::Unreachable(..) => {
                    ConnectionError::Failed(error.to_string())
                }
            })?;
            // The server refused the credential: retry once with a renewed one. If it cannot be renewed, the account is
            // disconnected.
            if response.status == 401 && !retried {
                retried = true;
                credential = self.valid_credential(principal, name, account, Some(&credential.access)).await?;
                continue;
            }
            return request::filter_response(response, &credential.secrets()).map_err(|reason| {
                tracing::warn!(connection = name, %principal, "{reason}");
                ConnectionError::Failed(reason)
            });
        }
    }
}
