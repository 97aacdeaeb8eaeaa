//! Why a server could not be connected, in words for people: the errors of rmcp name Rust types.

use platform::telemetry::printable;
use rmcp::service::ClientInitializeError;
use std::error::Error;

/// Also for a program that ends at once.
const CLOSED: &str = "it closed the connection before it answered; what it says of itself is in the log";

/// One sentence, without the server's name.
pub(crate) fn handshake_reason(error: &ClientInitializeError) -> String {
    let text = match error {
        ClientInitializeError::TransportError { error, .. } => unreachable_reason(&*error.error),
        ClientInitializeError::ConnectionClosed(_) => CLOSED.to_owned(),
        ClientInitializeError::JsonRpcError(refused) => format!("it refused: {} ({})", refused.message, refused.code.0),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<_> = server_supported.iter().map(ToString::to_string).collect();
            format!("it speaks only versions of MCP that this host does not: {}", versions.join(", "))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "it answered the first request with something else; is it an MCP server?".to_owned()
        }
        other => other.to_string(),
    };
    printable(&text).into_owned()
}

/// The innermost cause, and what to do about it.
fn unreachable_reason(error: &(dyn Error + 'static)) -> String {
    let (mut chain, mut inner) = (vec![error.to_string()], error);
    while let Some(source) = inner.source() {
        chain.push(source.to_string());
        inner = source;
    }
    let last = chain.last().map(|text| text.split(" (os error ").next().unwrap_or_default()).unwrap_or_default();
    let any = |words: &[&str]| chain.iter().any(|text| words.iter().any(|word| text.contains(word)));
    if any(&["Broken pipe"]) {
        return CLOSED.to_owned();
    }
    if any(&["error sending request"]) {
        // The HTTP library does not report the cause.
        return "no request reaches it; is it running at that address, and is the name right?".to_owned();
    }
    let advice = if any(&["refused"]) {
        "is it running at that address?"
    } else if any(&["Auth required", "401", "Unauthorized"]) {
        "it wants a credential: name a file with `key-file`, or `--key-file` of `portcullis agent`"
    } else if any(&["404", "405", "Not Found"]) {
        "is the path of the URL right, such as /mcp?"
    } else {
        return format!("it cannot be reached: {last}");
    };
    format!("it cannot be reached: {last}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer[my::Type<T>]")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn the_innermost_cause_is_named_with_advice() {
        let refused = Outer(std::io::Error::from_raw_os_error(111));
        assert_eq!(
            unreachable_reason(&refused),
            "it cannot be reached: Connection refused; is it running at that address?"
        );
        let other = Outer(std::io::Error::other("odd"));
        assert_eq!(unreachable_reason(&other), "it cannot be reached: odd");
        let closed = ClientInitializeError::ConnectionClosed("x".into());
        assert!(!handshake_reason(&closed).contains("x\"") && handshake_reason(&closed).contains("in the log"));
    }
}
