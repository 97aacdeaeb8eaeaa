//! Answers a client over stdio whose server cannot start. Most agents show their user nothing else about the failure.

use crate::transport::responses::sent_text::request_id;
use rmcp::ErrorData;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use std::io::{BufRead, Read as _, Write as _};
use std::sync::mpsc;
use std::time::Duration;

/// How long to wait for the first request. Clients send it at once; a person who starts a server without a client gets its exit
/// code.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of a line, and lines before the first request.
const MAX_LINE: u64 = 1 << 20;
const MAX_LINES: usize = 16;

/// Answers the first request at stdin with an error, if one comes soon. Blocks until then.
pub fn refuse_first_request(reason: &str) {
    let (send, receive) = mpsc::channel();
    // Reading is done in its own thread, because it cannot be cancelled. The thread ends with the process.
    std::thread::spawn(move || send.send(first_request(&mut std::io::stdin().lock())));
    let Ok(Some(id)) = receive.recv_timeout(PATIENCE) else { return };
    let error = ErrorData::internal_error(reason.to_owned(), None);
    if let Ok(mut text) = serde_json::to_vec(&ServerJsonRpcMessage::error(error, Some(id))) {
        text.push(b'\n');
        let mut out = std::io::stdout().lock();
        // The client may have gone.
        let _ = out.write_all(&text).and_then(|()| out.flush());
    }
}

fn first_request(input: &mut impl BufRead) -> Option<RequestId> {
    for _ in 0..MAX_LINES {
        let mut line = Vec::new();
        input.take(MAX_LINE).read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
        if let Some(id) = request_id(&line, b"") {
            return Some(id);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_is_found_behind_what_is_none() {
        let first = |text: &str| first_request(&mut text.as_bytes());
        let request = r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}"#;
        assert_eq!(first(request), Some(RequestId::Number(4)), "without the end of its line");
        let notified = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"id":3}}"#;
        assert_eq!(first(&format!("\n{notified}\nhello\n{request}\n")), Some(RequestId::Number(4)));
        assert_eq!(first(""), None);
        assert_eq!(first(&"\n".repeat(100_000)), None, "it does not read for ever");
    }
}
