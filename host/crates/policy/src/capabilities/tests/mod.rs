//! Requests, grants and uses of all capabilities together.

mod comparisons;
mod proposals;
mod questions;
