//! Who acts, and whose data it is: plugins, principals, and the digests that identify content.

mod data_key;
mod digest;
mod plugin_id;
mod principal;

pub use data_key::DataKey;
pub use digest::{Digest, DigestError};
pub use plugin_id::{PluginId, Side};
pub use principal::Principal;
