//! The names of the packages that components import.

/// The packages of both dialects.
pub(super) const PACKAGES: [&str; 2] = ["wasmcp:mcp-v20251125", "wasmcp:mcp-v20250618"];
/// The version that is linked. It stands for all that are compatible.
pub(super) const VERSION: &str = "0.1.0";
