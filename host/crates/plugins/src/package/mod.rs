//! Bytes that are worth compiling: read whole within a size limit, known by their digest, inspected before anything
//! runs. A single `.wasm` file is a whole package: the manifest is a custom section in it.

mod claims;
mod file;
mod inspect;
mod manifest;
mod walk;

pub use claims::Claims;
pub use file::{MAX_COMPONENT, PackageError, read_file, read_kept};
pub use inspect::{Inspection, Refusal, TOOLS_INTERFACE, inspect};
pub use manifest::Manifest;
pub use policy::Digest;

/// The API version this host offers to guests: the version of the WIT package.
pub const API_VERSION: &str = "0.1.0";
