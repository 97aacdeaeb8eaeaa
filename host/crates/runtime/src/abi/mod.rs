//! The guest API: one module per version of it. Only this module names the generated binding types; each version
//! converts its types to the host's own, so that no other module depends on the version of a guest.

mod guest;
mod guest_call;
mod v0_1;

pub use guest_call::{GuestAnswer, GuestCall};
pub use v0_1::{GuestLinker, GuestOutcome, LinkedComponent, PreparedComponent, SpentStore};
