//! CatalogLists that clients see: entries, pages, and what calls of the same principal published.

pub(crate) mod fallback_tools;
mod instructions;
pub(crate) mod lists;
pub(crate) mod page;
pub(crate) mod published;
