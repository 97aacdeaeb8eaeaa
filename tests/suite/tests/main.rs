//! End-to-end tests: the real program with real guests, driven from outside. One topic per file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod asking;
mod bombs;
mod budgets;
mod cache;
mod cancel;
mod clients;
mod command;
mod connections;
mod demos;
mod escapes;
mod floods;
mod forged;
mod giving_up;
mod http;
mod identity;
mod isolation;
mod languages;
mod main_job;
mod malformed;
mod model;
mod offers;
mod overflow;
mod paging;
mod parked;
mod policy;
mod provider;
mod published;
mod reload;
mod reverse;
mod streaming;
mod subscriptions;
mod transcripts;
mod wire;
