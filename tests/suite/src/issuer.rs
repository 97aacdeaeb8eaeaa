//! A local OAuth issuer: metadata, keys, valid or invalid tokens, and the page on which people log in.

use crate::web::{Reply, Seen, Web};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The host's client id at the issuer, and its client secret.
pub const CLIENT: &str = "portcullis-login";
const SECRET: &str = "the-logins-secret";

/// Signs with Ed25519. Each key is derived from one byte, its number.
pub struct Issuer {
    /// The server, which records requests.
    pub web: Web,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The published keys.
    keys: Vec<u8>,
    /// From authorization code to PKCE challenge, redirect address, resource and who has logged in.
    codes: HashMap<String, [String; 4]>,
    /// What tokens of people who log in have instead of the usual claims.
    claims: Value,
    made: usize,
}

impl Issuer {
    /// Starts an issuer whose only published key is number 1.
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State { keys: vec![1], ..State::default() }));
        let own = state.clone();
        let web = Web::serve(move |seen| {
            let base = format!("http://{}", seen.header("host").unwrap_or_default());
            let mut state = lock(&own);
            match seen.path() {
                "/.well-known/oauth-authorization-server" => {
                    Reply::json(json!({"issuer": base, "jwks_uri": format!("{base}/jwks")}))
                }
                "/jwks" => Reply::json(json!({"keys": state.keys.iter().map(|key| jwk(*key)).collect::<Vec<_>>()})),
                "/authorize" => authorize(&mut state, seen, &base),
                "/token" => token(&mut state, &fields(&seen.body), &base),
                _ => Reply::new(404, ""),
            }
        });
        Self { web, state }
    }

    /// The configuration of the login on the host's pages. The secret must be in the file `login.secret`.
    pub fn login(&self) -> String {
        let [authorize, token] = ["/authorize", "/token"].map(|path| self.web.url(path));
        format!(
            "[server.auth.oauth.login]\nauthorize = {authorize:?}\ntoken = {token:?}\nclient-id = {CLIENT:?}\nclient-secret-file = \"login.secret\"\n"
        )
    }

    /// The content of `login.secret`.
    pub fn secret(&self) -> &'static str {
        SECRET
    }

    /// From now on, tokens of people who log in have these claims instead of the usual ones.
    pub fn claim(&self, claims: Value) {
        lock(&self.state).claims = claims;
    }

    /// The issuer's URL, as in the claim `iss`.
    pub fn url(&self) -> String {
        self.web.url("")
    }

    /// Publishes these keys instead.
    pub fn publish(&self, keys: &[u8]) {
        lock(&self.state).keys = keys.to_vec();
    }

    /// The claims of a valid token for `audience`.
    pub fn claims(&self, audience: &str) -> Value {
        claims(&self.url(), audience, "alice")
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn claims(issuer: &str, audience: &str, subject: &str) -> Value {
    json!({"iss": issuer, "aud": audience, "sub": subject, "exp": now() + 300, "scope": "tools other"})
}

fn fields(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The header `X-Person` says who is in front of the browser, and logged in here.
fn authorize(state: &mut State, seen: &Seen, base: &str) -> Reply {
    let mut asked = fields(seen.target.split_once('?').map_or("", |(_, query)| query));
    let mut take = |name: &str| asked.remove(name).unwrap_or_default();
    let fixed = ["response_type", "client_id", "code_challenge_method", "scope"].map(&mut take);
    let [back, given, challenge, resource] = ["redirect_uri", "state", "code_challenge", "resource"].map(&mut take);
    if fixed != ["code", CLIENT, "S256", "tools"] || !back.ends_with("/oauth/login") {
        return Reply::new(400, format!("wrong: {fixed:?} {back}"));
    }
    let mut to = url::Url::parse(&back).expect("a redirect address");
    match seen.header("x-person") {
        None => drop(to.query_pairs_mut().append_pair("error", "access_denied")),
        Some(person) => {
            state.made += 1;
            let code = format!("code-{}", state.made);
            state.codes.insert(code.clone(), [challenge, back, resource, person.to_owned()]);
            to.query_pairs_mut().append_pair("code", &code);
        }
    }
    to.query_pairs_mut().append_pair("state", &given).append_pair("iss", base);
    Reply::redirect(to.as_str())
}

fn token(state: &mut State, form: &HashMap<String, String>, base: &str) -> Reply {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    let asked = [challenge.as_str(), field("redirect_uri"), field("resource")];
    let is_client = field("client_id") == CLIENT && field("client_secret") == SECRET;
    let code = state.codes.remove(field("code")).filter(|[of @ .., _]| is_client && *of == asked);
    match code {
        Some([_, _, resource, person]) => {
            let mut claims = claims(base, &resource, &person);
            for (name, value) in state.claims.as_object().into_iter().flatten() {
                claims[name] = value.clone();
            }
            Reply::json(json!({"access_token": sign(1, &claims), "token_type": "Bearer", "expires_in": 300}))
        }
        _ => Reply::new(400, json!({"error": "invalid_grant"}).to_string()),
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
    let (_, rest) = token.split_once('.').expect("a token has three parts");
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
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
