//! Component files: read within a size limit and inspected before anything is compiled. A plugin is a single `.wasm` file,
//! whose manifest is a custom section.

mod api;
mod claims;
mod core_module;
mod error;
mod file;
mod inspect;
mod manifest;
mod manifest_section;
mod scan;
mod stamp;

pub use api::{API_VERSION, TOOLS_INTERFACE};
pub use claims::Claims;
pub use error::InspectError;
pub use file::{ComponentFile, MAX_COMPONENT, PackageError, read_file, read_stored};
pub use inspect::{Inspection, inspect};
pub use manifest::Manifest;
pub use manifest_section::with_manifest;
pub use policy::Digest;
pub use stamp::FileStamp;
