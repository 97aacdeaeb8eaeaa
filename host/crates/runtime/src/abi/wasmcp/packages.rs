//! The names of what is imported.

/// Both dialects.
pub(super) const PACKAGES: [&str; 2] = ["wasmcp:mcp-v20251125", "wasmcp:mcp-v20250618"];
/// Stands for all that are compatible.
pub(super) const VERSION: &str = "0.1.0";
