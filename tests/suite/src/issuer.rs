//! A local OAuth issuer: metadata, keys, and valid or invalid tokens.

use crate::web::{Reply, Web};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Signs with Ed25519. Each key is derived from one byte, its number.
pub struct Issuer {
    /// The server, which records requests.
    pub web: Web,
    keys: Arc<Mutex<Vec<u8>>>,
}

impl Issuer {
    /// Starts an issuer whose only published key is number 1.
    pub fn start() -> Self {
        let keys = Arc::new(Mutex::new(vec![1]));
        let published = keys.clone();
        let web = Web::serve(move |seen| {
            let base = format!("http://{}", seen.header("host").unwrap_or_default());
            match seen.path() {
                "/.well-known/oauth-authorization-server" => {
                    Reply::json(json!({"issuer": base, "jwks_uri": format!("{base}/jwks")}))
                }
                "/jwks" => {
                    let keys = published.lock().unwrap_or_else(PoisonError::into_inner);
                    Reply::json(json!({"keys": keys.iter().map(|key| jwk(*key)).collect::<Vec<_>>()}))
                }
                _ => Reply::new(404, ""),
            }
        });
        Self { web, keys }
    }

    /// The issuer's URL, as in the claim `iss`.
    pub fn url(&self) -> String {
        self.web.url("")
    }

    /// Publishes these keys instead.
    pub fn publish(&self, keys: &[u8]) {
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys.to_vec();
    }

    /// The claims of a valid token for `audience`.
    pub fn claims(&self, audience: &str) -> Value {
        json!({"iss": self.url(), "aud": audience, "sub": "alice", "exp": now() + 300, "scope": "tools other"})
    }
}

/// Seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "tokens are made for the clock on the wall")]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// A token with these claims, signed by the key of this number.
pub fn sign(key: u8, claims: &Value) -> String {
    let header = Header { kid: Some(name(key)), ..Header::new(Algorithm::EdDSA) };
    jsonwebtoken::encode(&header, claims, &secret(key)).expect("signing a token")
}

/// The token with another header.
pub fn with_header(token: &str, header: &Value) -> String {
    use base64::Engine;
    let (_, rest) = token.split_once('.').expect("a token has three parts");
    format!("{}.{rest}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header.to_string()))
}

fn name(key: u8) -> String {
    format!("key-{key}")
}

/// PKCS #8: a fixed frame around 32 secret bytes.
fn secret(key: u8) -> EncodingKey {
    let frame = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    EncodingKey::from_ed_der(&[&frame[..], &[key; 32]].concat())
}

fn jwk(key: u8) -> Value {
    let jwk = Jwk::from_encoding_key(&secret(key), Algorithm::EdDSA).expect("a public key");
    let mut jwk = serde_json::to_value(jwk).expect("a key as JSON");
    jwk["kid"] = json!(name(key));
    jwk
}
