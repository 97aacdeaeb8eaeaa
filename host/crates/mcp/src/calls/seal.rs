//! Tokens for parked calls: only the call's own client can use one, for the same request, until it expires.
//!
//! A token is an id and an expiry, sealed with XChaCha20-Poly1305 under a key of the process, or of all processes that share
//! a state folder. The request is authenticated with it, so that a token does not open for
//! another principal, method, tool, argument or plugin version.

use crate::client::pending::ResumeToken;
use crate::json_digest::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use platform::random::random_bytes;
use policy::Principal;
use serde_json::Value;

/// Bytes of a nonce, which is random for each token.
const NONCE_SIZE: usize = 24;
/// Bytes of id and expiry.
const PAYLOAD_SIZE: usize = 16 + 8;

/// A random id.
pub(crate) type ParkedId = [u8; 16];

pub(crate) struct TokenSealer(XChaCha20Poly1305);

/// What a token is bound to: everything that must be the same in the request that resumes the call.
#[derive(Clone)]
pub(crate) struct RequestBinding(Vec<u8>);

impl RequestBinding {
    /// `key` is the idempotency key: a call that has one can be resumed only under the same key.
    pub(crate) fn new(
        principal: &Principal,
        method: &str,
        target: &str,
        arguments: &Value,
        plugin: &str,
        key: Option<&str>,
    ) -> Self {
        let arguments = digest(arguments);
        let parts =
            [principal.as_str().as_bytes(), method.as_bytes(), target.as_bytes(), &arguments, plugin.as_bytes()];
        let mut bound = Vec::with_capacity(parts.iter().map(|part| size_of::<u64>() + part.len()).sum());
        for part in parts.into_iter().chain(key.map(str::as_bytes)) {
            bound.extend((part.len() as u64).to_le_bytes());
            bound.extend(part);
        }
        Self(bound)
    }

    /// The whole binding, to compare it with another.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    /// Also binds it to a kind of token, so that no token works as the other kind.
    pub(crate) fn with_resume_token(&self, kind: ResumeToken) -> Self {
        let mut bound = self.0.clone();
        bound.push(match kind {
            ResumeToken::RequestState => 0,
            ResumeToken::Continuation => 1,
        });
        Self(bound)
    }
}

impl TokenSealer {
    /// Uses the key that other processes have too, or a new one if there is none.
    pub(crate) fn new(key: Option<[u8; 32]>) -> std::io::Result<Self> {
        let key = match key {
            Some(key) => key,
            None => random_bytes::<32>()?,
        };
        Ok(Self(XChaCha20Poly1305::new(&key.into())))
    }

    /// `expires` is in milliseconds since 1970.
    pub(crate) fn seal(&self, id: ParkedId, expires: u64, binding: &RequestBinding) -> std::io::Result<String> {
        let nonce = random_bytes::<NONCE_SIZE>()?;
        let payload = [id.as_slice(), &expires.to_le_bytes()].concat();
        let payload = Payload { msg: &payload, aad: &binding.0 };
        let sealed =
            self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| std::io::Error::other("sealing failed"))?;
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// None unless the text was sealed under this key for the same request.
    pub(crate) fn open(&self, text: &str, binding: &RequestBinding) -> Option<(ParkedId, u64)> {
        // No token is longer than this, so it need not be decoded.
        if text.len() > 256 {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_SIZE>()?;
        let payload = Payload { msg: sealed, aad: &binding.0 };
        let payload: [u8; PAYLOAD_SIZE] = self.0.decrypt(&XNonce::from(*nonce), payload).ok()?.try_into().ok()?;
        let (id, expires) = payload.split_first_chunk::<16>()?;
        Some((*id, u64::from_le_bytes(expires.try_into().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn binding(principal: &str, tool: &str, arguments: Value, code: &str) -> RequestBinding {
        RequestBinding::new(&Principal::from_source("key", principal), "tools/call", tool, &arguments, code, None)
    }

    #[test]
    fn a_token_opens_only_for_its_own_request() {
        let sealer = TokenSealer::new(None).unwrap();
        let mine = binding("ann", "book", json!({"a": 1, "b": [2]}), "v1");
        let state = sealer.seal([7; 16], 99, &mine).unwrap();
        assert_eq!(sealer.open(&state, &mine), Some(([7; 16], 99)));
        for other in [
            binding("bob", "book", json!({"a": 1, "b": [2]}), "v1"),
            binding("ann", "boo", json!({"a": 1, "b": [2]}), "v1"),
            binding("ann", "book", json!({"a": 1, "b": [3]}), "v1"),
            binding("ann", "book", json!({"a": 1, "b": [2]}), "v2"),
        ] {
            assert_eq!(sealer.open(&state, &other), None);
        }
        let (as_state, as_continuation) =
            (mine.with_resume_token(ResumeToken::RequestState), mine.with_resume_token(ResumeToken::Continuation));
        let state_only = sealer.seal([7; 16], 99, &as_state).unwrap();
        assert_eq!(sealer.open(&state_only, &as_state), Some(([7; 16], 99)));
        assert_eq!((sealer.open(&state_only, &as_continuation), sealer.open(&state_only, &mine)), (None, None));
        let reordered = binding("ann", "book", serde_json::from_str(r#"{"b":[2],"a":1}"#).unwrap(), "v1");
        assert_eq!(sealer.open(&state, &reordered), Some(([7; 16], 99)));
        assert_eq!(TokenSealer::new(None).unwrap().open(&state, &mine), None);
        assert_ne!(sealer.seal([7; 16], 99, &mine).unwrap(), state);
    }

    #[test]
    fn a_token_with_a_flipped_bit_does_not_open() {
        let sealer = TokenSealer::new(None).unwrap();
        let mine = binding("ann", "book", json!({}), "v1");
        let state = sealer.seal([7; 16], 99, &mine).unwrap();
        for at in 0..state.len() * 8 {
            let mut bytes = state.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            let Ok(flipped) = String::from_utf8(bytes) else { continue };
            assert_eq!(sealer.open(&flipped, &mine), None, "bit {at}");
        }
        for bad in ["", "x", &state[1..], &format!("{state}A"), &"A".repeat(10_000)] {
            assert_eq!(sealer.open(bad, &mine), None);
        }
    }
}
