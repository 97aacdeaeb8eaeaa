//! A client that only sends requests and reads answers, over any transport and in any revision, to compare them all.

use crate::called::Answer;
use crate::client::{Client, Era};
use crate::{Server, http};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;

/// A connection to a server over one transport and in one revision.
pub enum Speaker {
    /// Over stdin and stdout.
    Stdio(Box<Client>),
    /// Over HTTP: the address, the revision, and the session's headers if there is a session.
    Http(Box<Server>, SocketAddr, Era, Vec<(String, String)>),
}

impl Speaker {
    /// All combinations with their names, each connected to its own server.
    pub fn all(config: &str) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        for era in Era::ALL {
            let client = Client::new(Server::start(config), era, false);
            all.push((format!("{era:?} over stdio"), Self::Stdio(Box::new(client))));
            let (server, address) = Server::start_http(config);
            let session = if era == Era::Legacy { http::legacy_session(address, false) } else { vec![] };
            all.push((format!("{era:?} over HTTP"), Self::Http(Box::new(server), address, era, session)));
        }
        all
    }

    /// Whether it uses protocol version 2026-07-28.
    pub fn is_modern(&self) -> bool {
        match self {
            Self::Stdio(client) => client.era() == Era::Modern,
            Self::Http(_, _, era, _) => *era == Era::Modern,
        }
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, method: &str, mut params: Value) -> Answer {
        let sent = Instant::now();
        match self {
            Self::Stdio(client) => client.request(method, params),
            Self::Http(_, address, Era::Modern, _) => http::modern(*address, 1, method, params, false).answer(1, sent),
            Self::Http(_, address, Era::Legacy, session) => {
                params["_meta"]["dev.portcullis/usage"] = json!(true);
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                let headers: Vec<_> = session.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                http::request(*address, "POST", &headers, &body.to_string()).answer(1, sent)
            }
        }
    }
}
