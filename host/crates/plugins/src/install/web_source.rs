//! Components on web servers: one file at a URL, with its signatures at the same URL plus an ending.

use super::credentials;
use super::reference::is_loopback;
use super::settings::SourceSettings;
use super::signature::{MAX_SIGNATURE_BYTES, SIGNATURE_FILES, UnverifiedSignature};
use crate::package::MAX_COMPONENT;
use bytes::Bytes;
use platform::outbound::header::{self, HeaderMap};
use platform::outbound::{AllowedNetwork, GuardedClient, GuardedRequest, Method};
use policy::Digest;
use std::time::Duration;
use url::Url;

/// How long one file may take, unless `[sources]` sets a timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// Fetches a component and checks it against the expected digest.
pub(super) async fn fetch_component(
    guarded: &GuardedClient,
    settings: &SourceSettings,
    url: &Url,
    expected: Option<&Digest>,
) -> Result<Vec<u8>, String> {
    let bytes = get(guarded, settings, url.clone(), MAX_COMPONENT).await?.ok_or("there is no such file (404)")?;
    match expected {
        Some(expected) if *expected != Digest::sha256(&bytes) => {
            Err(format!("it does not match its digest: expected {expected}, received {}", Digest::sha256(&bytes)))
        }
        _ => Ok(bytes),
    }
}

/// Fetches the signatures of a component. A missing signature is fine; one that cannot be fetched is an error.
pub(super) async fn find_signatures(
    guarded: &GuardedClient,
    settings: &SourceSettings,
    url: &Url,
) -> Result<Vec<UnverifiedSignature>, String> {
    let mut found = Vec::new();
    for (ending, from_text) in SIGNATURE_FILES {
        let mut signature_url = url.clone();
        signature_url.set_path(&format!("{}{ending}", url.path()));
        let fail = |reason: String| format!("its signature {ending} cannot be fetched: {reason}");
        if let Some(bytes) = get(guarded, settings, signature_url, MAX_SIGNATURE_BYTES).await.map_err(fail)? {
            found.push(from_text(String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8 text".into()))?));
        }
    }
    Ok(found)
}

async fn get(
    guarded: &GuardedClient,
    settings: &SourceSettings,
    url: Url,
    max_body: u64,
) -> Result<Option<Vec<u8>>, String> {
    let network = match (settings.private, url.host().is_some_and(|host| is_loopback(&host))) {
        (true, _) => AllowedNetwork::Private,
        (false, true) => AllowedNetwork::Loopback,
        (false, false) => AllowedNetwork::Public,
    };
    let mut headers = HeaderMap::new();
    headers.extend(
        credentials::read_credentials(settings)?.map(|credentials| (header::AUTHORIZATION, credentials.basic_header())),
    );
    let (method, body, timeout) = (Method::GET, Bytes::new(), settings.timeout.unwrap_or(DEFAULT_TIMEOUT));
    let request = GuardedRequest { method, url, headers, body, network, follow: true, timeout, max_body };
    let response = guarded.send(request).await.map_err(|error| error.to_string())?;
    match response.status {
        200 => Ok(Some(response.body)),
        404 => Ok(None),
        401 | 403 => Err("the server refuses access; set user and password-file in [sources]".into()),
        status => Err(format!("the server answers {status}")),
    }
}
