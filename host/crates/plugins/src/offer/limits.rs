//! Limits of an offer that its errors quote.

/// Bytes of the name of a tool, prompt or argument.
pub(super) const MAX_NAME: usize = 64;

/// Bytes of the texts of all tools, all resources, all templates or all prompts of a plugin: they are sent to every client
/// and read by every model.
pub(super) const MAX_TEXT: usize = 256 << 10;

/// Bytes of all titles and descriptions of a plugin together. Bounds how much of every model's context one plugin fills.
pub(super) const MAX_PROSE: usize = 64 << 10;
