//! The WIT package that this host offers, and its interfaces that make a component a plugin.

/// The WIT package, in all its versions. A component that exports none of its interfaces has functions of its own instead.
pub(super) const PACKAGE: &str = "portcullis:plugin/";
/// The version of the WIT package, which is the API version of plugins.
pub const API_VERSION: &str = "0.1.0";
/// The export of plugins with tools.
pub const TOOLS_INTERFACE: &str = "portcullis:plugin/tools@0.1.0";
/// Exports of plugins without tools.
pub(super) const OTHER_INTERFACES: [&str; 2] = ["portcullis:plugin/resources@0.1.0", "portcullis:plugin/prompts@0.1.0"];
