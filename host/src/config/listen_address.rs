//! Addresses on which a server listens, as people write them.

use serde::de::{Deserializer, Visitor};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

/// Parses `8808`, `:8808`, `localhost:8808` or `127.0.0.1:8808`. Only the last form can mean other machines.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    match (port.parse::<u16>(), text.parse()) {
        (Ok(port), _) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        (_, Ok(address)) => Ok(address),
        _ => Err(format!("{text:?} is no address to listen on; write 8808, localhost:8808 or 127.0.0.1:8808")),
    }
}

/// Reads an address in a configuration, where a port may be a number.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    struct Address;

    impl Visitor<'_> for Address {
        type Value = Option<SocketAddr>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an address to listen on, such as \"127.0.0.1:8808\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            parse_listen_address(text).map(Some).map_err(E::custom)
        }

        fn visit_i64<E: serde::de::Error>(self, port: i64) -> Result<Self::Value, E> {
            self.visit_str(&port.to_string())
        }
    }

    deserializer.deserialize_any(Address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_this_machine() {
        for (text, address) in [
            ("8808", "127.0.0.1:8808"),
            (":0", "127.0.0.1:0"),
            ("localhost:8808", "127.0.0.1:8808"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(parse_listen_address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for bad in ["", "localhost", "70000", "example.com:80", "127.0.0.1", "::1", "-1"] {
            assert!(parse_listen_address(bad).is_err_and(|why| why.contains("127.0.0.1:8808")), "{bad}");
        }
    }
}
