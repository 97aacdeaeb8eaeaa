//! Guests: one module per version of the guest API, one per dialect of other hosts, and `plain` for components that know none.
//! Only this module names the generated binding types; each version converts its types to the host's own, so that no other
//! module depends on the version of a guest.

mod act;
mod component;
mod dialect;
mod exports;
mod foreign;
mod guest;
mod guest_call;
mod link_error;
mod linker;
mod plain;
mod ready;
mod store;
mod v0_1;
mod values;
mod wasix;
mod wasmcp;

pub use component::{GuestOutcome, LinkedComponent, PreparedComponent, SpentStore};
pub use dialect::Dialect;
pub use guest_call::{GuestAnswer, GuestCall};
pub use link_error::LinkError;
pub use linker::GuestLinker;
