//! A local service with accounts: an authorization server that checks PKCE, and an API behind it.

use crate::web::{Reply, Seen, Web};
use base64::Engine;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Part of every token, so that leaked tokens can be found.
pub const CANARY: &str = "CANARY-0123456789";
/// The host's client id at the service, and its client secret.
pub const CLIENT: &str = "portcullis-of-the-suite";
const SECRET: &str = "the-clients-secret";

/// The service.
pub struct Provider {
    /// The server, which records requests.
    pub web: Web,
    /// Another host, which the service refers to: it must receive no request.
    pub elsewhere: Web,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// From authorization code to PKCE challenge and redirect address.
    codes: HashMap<String, (String, String)>,
    /// The tokens that are valid now.
    access: Option<String>,
    refresh: Option<String>,
    made: usize,
    /// The lifetime of a token in seconds; without one, tokens do not expire.
    lasts: Option<u64>,
    says_no: bool,
    /// An address of the other host.
    outside: String,
}

impl Provider {
    /// Starts one.
    pub fn start() -> Self {
        let elsewhere = Web::serve(|_| Reply::new(404, "nothing here"));
        let outside = elsewhere.url("/outside");
        let state = Arc::new(Mutex::new(State { outside, ..State::default() }));
        let own = state.clone();
        let web = Web::serve(move |seen| answer(&mut lock(&own), seen));
        Self { web, elsewhere, state }
    }

    /// The configuration of a connection of this name. The secret must be in the file `service.secret`.
    pub fn config(&self, name: &str) -> String {
        format!(
            "[connections.{name}]\nauthorize = {:?}\ntoken = {:?}\napi = {:?}\nclient-id = {CLIENT:?}\nclient-secret-file = \"service.secret\"\nscopes = [\"read\", \"write\"]\nissuer = {:?}\n",
            self.web.url("/authorize"),
            self.web.url("/token"),
            self.web.url("/api/v1"),
            self.web.url(""),
        )
    }

    /// The content of `service.secret`.
    pub fn secret(&self) -> &'static str {
        SECRET
    }

    /// Sets the lifetime of access tokens.
    pub fn tokens_last(&self, seconds: u64) {
        lock(&self.state).lasts = Some(seconds);
    }

    /// Revokes the access token; the refresh token remains valid.
    pub fn revoke_access(&self) {
        lock(&self.state).access = None;
    }

    /// Revokes all tokens.
    pub fn revoke_all(&self) {
        let mut state = lock(&self.state);
        (state.access, state.refresh) = (None, None);
    }

    /// From now on, users decline to authorize.
    pub fn says_no(&self) {
        lock(&self.state).says_no = true;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fields(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn answer(state: &mut State, seen: &Seen) -> Reply {
    let base = format!("http://{}", seen.header("host").unwrap_or_default());
    match seen.path() {
        "/authorize" => authorize(state, seen, &base),
        "/token" => token(state, &fields(&seen.body)),
        path => match path.strip_prefix("/api/v1/") {
            Some(path) => api(state, seen, path),
            None => Reply::new(404, "nothing here"),
        },
    }
}

fn authorize(state: &mut State, seen: &Seen, base: &str) -> Reply {
    let asked = fields(seen.target.split_once('?').map_or("", |(_, query)| query));
    let is = |name: &str, value: &str| asked.get(name).is_some_and(|found| found == value);
    let good = is("response_type", "code") && is("client_id", CLIENT) && is("code_challenge_method", "S256");
    let (Some(back), Some(given), Some(challenge)) =
        (asked.get("redirect_uri"), asked.get("state"), asked.get("code_challenge"))
    else {
        return Reply::new(400, "incomplete");
    };
    if !good || !is("scope", "read write") || !back.ends_with("/oauth/callback") {
        return Reply::new(400, "wrong");
    }
    let mut to = url::Url::parse(back).expect("a redirect address");
    state.made += 1;
    let code = format!("code-{}", state.made);
    let (name, value) = if state.says_no { ("error", "access_denied") } else { ("code", code.as_str()) };
    to.query_pairs_mut().append_pair(name, value).append_pair("state", given).append_pair("iss", base);
    state.codes.insert(code, (challenge.clone(), back.clone()));
    Reply::redirect(to.as_str())
}

fn token(state: &mut State, form: &HashMap<String, String>) -> Reply {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let wrong = |error: &str| Reply::new(400, json!({"error": error}).to_string());
    if field("client_id") != CLIENT || field("client_secret") != SECRET {
        return wrong("invalid_client");
    }
    let good = match field("grant_type") {
        "authorization_code" => {
            let challenge =
                base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
            state
                .codes
                .remove(field("code"))
                .is_some_and(|(asked, back)| asked == challenge && back == field("redirect_uri"))
        }
        "refresh_token" => state.refresh.as_deref() == Some(field("refresh_token")),
        _ => false,
    };
    if !good {
        return wrong("invalid_grant");
    }
    state.made += 1;
    let (access, refresh) = (format!("{CANARY}-access-{}", state.made), format!("{CANARY}-refresh-{}", state.made));
    (state.access, state.refresh) = (Some(access.clone()), Some(refresh.clone()));
    let mut given = json!({"access_token": access, "refresh_token": refresh, "token_type": "bearer"});
    if let Some(seconds) = state.lasts {
        given["expires_in"] = json!(seconds);
    }
    Reply::json(given)
}

fn api(state: &State, seen: &Seen, path: &str) -> Reply {
    let shown = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    if shown.is_none() || shown != state.access.as_deref() {
        return Reply::new(401, "who are you?");
    }
    match path {
        "user" => Reply::json(json!({"login": "ada"})).with("X-Kind", "person").with("Set-Cookie", "a=b"),
        "echo" => Reply::new(200, format!("you are {}", shown.unwrap_or_default())),
        "user/pulls" => Reply::json(json!([
            {"title": "Raise the gate", "private": true, "url": state.outside},
            {"title": "Oil the\nchains", "private": true, "url": state.outside},
        ]))
        .with("Link", &format!("<{}>; rel=\"next\"", state.outside)),
        "away" => Reply::redirect(&state.outside),
        "big" => Reply::new(200, vec![b'x'; 5 << 20]),
        "most" => Reply::new(200, vec![b'x'; 4 << 20]),
        "post" => Reply::new(201, format!("{} bytes", seen.body.len())),
        _ => Reply::new(404, "no such thing"),
    }
}
