//! Egress against hostile servers and name servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bounds;
mod fake_network;
mod hostile_addresses;
mod redirects;
mod secrets;
