//! Plugins of web servers: one file at an address, and its signatures at the same address with another ending.

use super::credentials;
use super::reference::is_loopback;
use super::settings::SourceSettings;
use super::signature::{Evidence, MAX_EVIDENCE};
use crate::package::MAX_COMPONENT;
use bytes::Bytes;
use platform::outbound::header::{self, HeaderMap};
use platform::outbound::{Guarded, Method, Near, Visit};
use policy::Digest;
use std::time::Duration;
use url::Url;

/// The longest wait for a file, where the source's table says nothing.
const PATIENCE: Duration = Duration::from_secs(300);

/// The component at an address, whole and of the digest that was promised; the error is a sentence.
pub(super) async fn component(
    guarded: &Guarded,
    settings: &SourceSettings,
    url: &Url,
    promised: Option<&Digest>,
) -> Result<Vec<u8>, String> {
    let bytes = get(guarded, settings, url.clone(), MAX_COMPONENT).await?.ok_or("there is no such file (404)")?;
    match promised {
        Some(promised) if *promised != Digest::of(&bytes) => {
            Err(format!("it is not what its digest says: {promised} was promised, {} came", Digest::of(&bytes)))
        }
        _ => Ok(bytes),
    }
}

/// The signatures beside it. That there is none is an answer; that it cannot be told is an error.
pub(super) async fn evidence(guarded: &Guarded, settings: &SourceSettings, url: &Url) -> Result<Vec<Evidence>, String> {
    let mut found = Vec::new();
    for (ending, kind) in super::BESIDE {
        let mut at = url.clone();
        at.set_path(&format!("{}{ending}", url.path()));
        let fail = |reason: String| format!("its signature {ending} cannot be fetched: {reason}");
        if let Some(bytes) = get(guarded, settings, at, MAX_EVIDENCE).await.map_err(fail)? {
            found.push(kind(String::from_utf8(bytes).map_err(|_| fail("it is no text".into()))?));
        }
    }
    Ok(found)
}

async fn get(guarded: &Guarded, settings: &SourceSettings, url: Url, max_body: u64) -> Result<Option<Vec<u8>>, String> {
    let near = match (settings.private, url.host().is_some_and(|host| is_loopback(&host))) {
        (true, _) => Near::Private,
        (false, true) => Near::Loopback,
        (false, false) => Near::Public,
    };
    let mut headers = HeaderMap::new();
    headers.extend(credentials::read(settings)?.map(|credentials| (header::AUTHORIZATION, credentials.basic())));
    let (method, body, timeout) = (Method::GET, Bytes::new(), settings.timeout.unwrap_or(PATIENCE));
    let visit = Visit { method, url, headers, body, near, follow: true, timeout, max_body };
    let told = guarded.visit(visit).await.map_err(|error| error.to_string())?;
    match told.status {
        200 => Ok(Some(told.body)),
        404 => Ok(None),
        401 | 403 => Err("the server does not let us in; user and password-file belong into [sources]".into()),
        status => Err(format!("the server answers {status}")),
    }
}
