//! Harness of the end-to-end tests: starts the real program in a folder of its own and connects clients that are simple
//! enough to show every byte. Read [`Server`] and [`Client`] first.
//!
//! Every wait has a timeout: a test that would hang fails with what it waited for and the host's log.

pub mod agents;
pub mod browser;
mod bundle;
mod called;
pub mod canary;
pub mod cli;
pub mod client;
mod compiled_code;
mod config;
pub mod cosign;
pub mod cutting;
pub mod cycles;
mod der;
mod digest;
pub mod forge;
pub mod guest_libraries;
#[cfg(target_arch = "x86_64")]
pub mod hijack;
pub mod home;
pub mod http;
pub mod importer;
pub mod imports;
pub mod issuer;
pub mod journey;
mod keys;
pub mod lanes;
pub mod libraries;
mod log_reader;
pub mod mangle;
pub mod minisign;
pub mod paths;
pub mod provider;
pub mod registry;
mod running;
pub mod scan;
mod server;
pub mod servers;
pub mod sigstore;
pub mod soak;
mod speaker;
pub mod task_clients;
pub mod tls;
pub mod transcripts;
pub mod tutorial;
mod waiting;
mod watch;
pub mod web;
mod x509;

pub use called::{Answer, Called};
pub use cli::{Ran, at_dumb_terminal, at_terminal, patiently, portcullis, portcullis_with};
pub use client::{Client, Era, modern_meta};
pub use compiled_code::compiled_code;
pub use config::{agent, agent_from, plugin, plugin_from, with_manifest};
pub use digest::digest;
pub use home::Home;
pub use running::{own_memory, serving_process};
pub use server::Server;
pub use speaker::Speaker;
pub use waiting::eventually;
pub use watch::Watch;

use std::time::Duration;

/// The timeout of every wait. Generous: a debug build on a busy machine compiles every guest at the first start.
pub const PATIENCE: Duration = Duration::from_secs(120);
