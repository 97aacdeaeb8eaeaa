//! What a server lists: tools, resources, templates and prompts, as values.

pub(crate) mod definitions;
pub(crate) mod list_kind;
pub(crate) mod listed_item;
pub(crate) mod listed_members;
pub(crate) mod listed_tool;
pub(crate) mod problems;
