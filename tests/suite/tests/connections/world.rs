//! The fixture for connection tests: a provider, a server over HTTP, and two users with keys and browsers.

use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;
use suite::browser::{Arrived, Browser};
use suite::http::request;
use suite::issuer::{self, Issuer};
use suite::provider::{CANARY, Provider};
use suite::{Called, Home, Server, portcullis};
use url::Url;

/// The client's server and the provider.
pub(crate) struct World {
    pub(crate) provider: Provider,
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    /// The keys of alice and bob, or their tokens.
    pub(crate) keys: Vec<String>,
}

/// This server's address, as tokens of an issuer name it.
pub(crate) const AUDIENCE: &str = "https://tools.example.com/mcp";

/// A folder with the client's secret.
pub(crate) fn home(provider: &Provider) -> Home {
    let home = Home::new();
    home.write("service.secret", format!("{}\n", provider.secret()));
    home
}

/// A configuration with these plugins and a connection of this name.
pub(crate) fn config(provider: &Provider, plugins: &str, connection: &str) -> String {
    format!("[server]\nstate = \"state\"\n{plugins}{}", provider.config(connection))
}

impl World {
    /// A server over HTTP with keys for alice and bob.
    pub(crate) fn new(plugins: &str, connection: &str) -> Self {
        let provider = Provider::start();
        let home = home(&provider);
        let (mut keys, mut file) = (vec![], String::new());
        for name in ["alice", "bob"] {
            let made = portcullis(&home, &["key", "new", name]);
            let lines: Vec<_> = made.good().lines().map(str::trim).collect();
            keys.push(lines[0].to_owned());
            file += &format!("{}\n", lines[1]);
        }
        let path = home.write("keys.toml", &file);
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        let config = config(&provider, plugins, connection) + "[server.auth]\nkeys = \"keys.toml\"\n";
        let (server, address) = Server::start_http_in(home, &config);
        Self { provider, server, address, keys }
    }

    /// A server over HTTP whose users have tokens of an issuer. `login` is how they log in on its pages.
    pub(crate) fn of_issuer(issuer: &Issuer, login: &str, plugins: &str, connection: &str) -> Self {
        let provider = Provider::start();
        let home = home(&provider);
        home.write("login.secret", issuer.secret());
        let auth = format!(
            "[server.auth.oauth]\nissuer = {:?}\nresource = {AUDIENCE:?}\nrequired-scopes = [\"tools\"]\n{login}",
            issuer.url()
        );
        let (server, address) = Server::start_http_in(home, &(config(&provider, plugins, connection) + &auth));
        let keys = ["alice", "bob"].map(|name| {
            let mut claims = issuer.claims(AUDIENCE);
            claims["sub"] = json!(name);
            issuer::sign(1, &claims)
        });
        Self { provider, server, address, keys: keys.into() }
    }

    /// The `Authorization` value for a user's key.
    pub(crate) fn bearer(&self, who: usize) -> String {
        format!("Bearer {}", self.keys[who])
    }

    /// Makes a modern call of a tool, optionally with the state and answers of the previous round.
    pub(crate) fn tool(&self, who: usize, tool: &str, arguments: Value, state: Option<(&Value, Value)>) -> Called {
        let capabilities = json!({"elicitation": {"url": {}}});
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "suite", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }});
        if let Some((state, responses)) = state {
            (params["requestState"], params["inputResponses"]) = (state.clone(), responses);
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = self.bearer(who);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        let sent = Instant::now();
        let response = request(self.address, "POST", &headers, &body.to_string());
        assert_eq!(response.status, 200);
        let answer = response.answer(1, sent);
        assert!(!format!("{answer:?}").contains(CANARY), "{answer:?}");
        Called(answer)
    }

    /// Presses the page's button.
    pub(crate) fn go_on(&self, browser: &mut Browser, page: &Url, who: usize) -> Arrived {
        go_on(browser, page, &self.keys[who])
    }

    /// Completes the whole browser flow.
    pub(crate) fn browse(&self, browser: &mut Browser, page: &Url, who: usize) {
        connect_in_browser(browser, page, &self.keys[who]);
    }

    /// Checks that no token leaked.
    pub(crate) fn check_secrecy(&self) {
        check_secrecy(&self.server);
    }
}

/// The page that a round asks its user to open, and the state to continue with.
pub(crate) fn asked(called: &Called, key: &str) -> (Url, Value) {
    let asked = &called.result()["inputRequests"][key];
    assert_eq!((&asked["method"], &asked["params"]["mode"]), (&json!("elicitation/create"), &json!("url")), "{asked}");
    (address(&asked["params"]), called.result()["requestState"].clone())
}

/// The page of a question.
pub(crate) fn address(question: &Value) -> Url {
    Url::parse(question["url"].as_str().unwrap()).unwrap()
}

/// Opens the host's page, continues to the provider, consents and returns. `key` is empty if there are no keys.
pub(crate) fn connect_in_browser(browser: &mut Browser, page: &Url, key: &str) {
    let shown = check_no_token(browser.open(page));
    assert_eq!(shown.status, 200, "{}", shown.text);
    let sent = go_on(browser, page, key);
    assert_eq!(sent.status, 303, "{}", sent.text);
    let back = browser.open(&sent.location.unwrap()).location.unwrap();
    let end = check_no_token(browser.open(&back));
    assert_eq!(end.status, 200, "{}", end.text);
}

fn go_on(browser: &mut Browser, page: &Url, key: &str) -> Arrived {
    let id = page.query_pairs().find(|(name, _)| name == "e").unwrap().1.into_owned();
    let mut to = page.clone();
    to.set_query(None);
    let fields = [("e", id.as_str()), ("key", key)];
    check_no_token(browser.submit(&to, if key.is_empty() { &fields[..1] } else { &fields }))
}

/// Checks that no token is in the log or readable in the host's files.
pub(crate) fn check_secrecy(server: &Server) {
    assert!(!server.log().contains(CANARY), "{}", server.log());
    let mut folders = vec![server.home.path().join("state")];
    let file = |path: &Path| {
        // The host may just have removed it: its databases have journals.
        let (Ok(bytes), Ok(metadata)) = (fs::read(path), fs::metadata(path)) else { return };
        assert!(!bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()), "{}", path.display());
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
    };
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { file(&path) }
        }
    }
}

/// Checks that neither the page nor the redirect contains a token.
pub(crate) fn check_no_token(arrived: Arrived) -> Arrived {
    assert!(!arrived.text.contains(CANARY), "{}", arrived.text);
    arrived
}
