//! Why a server is not connected.

use std::io;
use std::time::Duration;

/// Time for the handshake. Bounds a server that accepts the connection and never answers.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot start `{0}`: {reason}", reason = reason_not_started(.1))]
    Spawn(String, io::Error),
    #[error("cannot read the key {0}: {1}")]
    Key(String, io::Error),
    #[error("{0}")]
    Outbound(String),
    #[error("{0}")]
    Handshake(String),
    #[error("the handshake took longer than {t}", t = humantime::format_duration(HANDSHAKE_TIMEOUT))]
    HandshakeTimeout,
}

fn reason_not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program; is it installed, and is its folder in PATH?".to_owned(),
        _ => error.to_string(),
    }
}
