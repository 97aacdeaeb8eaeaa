//! The lists that clients see: the entries, the pages, and what calls of the same principal have published.

pub(crate) mod fallback_tools;
mod instructions;
pub(crate) mod lists;
pub(crate) mod page;
pub(crate) mod published;
