//! Egress against an internet that lies.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bounds;
mod figure;
mod redirects;
mod told;
mod world;
