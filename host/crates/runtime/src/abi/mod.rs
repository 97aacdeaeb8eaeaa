//! The only place that names generated binding types: one module per version of the guest API, each turning that
//! version's types into the host's own, so that nothing above knows there is more than one.

mod guest;
mod since_v0_1;

pub use guest::CallSetup;
pub use since_v0_1::{Abi, Ended, Prepared, Remains};
