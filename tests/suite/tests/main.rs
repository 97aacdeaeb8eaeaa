//! End-to-end tests: the real program with real guests, driven from outside. One topic per file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod bombs;
mod budgets;
mod cache;
mod cancel;
mod clients;
mod command;
mod door;
mod drain;
mod escapes;
mod floods;
mod forged;
mod headers;
mod http;
mod isolation;
mod languages;
mod main_job;
mod malformed;
mod offers;
mod policy;
mod resume;
mod reverse;
mod sessions;
mod streaming;
mod wire;
