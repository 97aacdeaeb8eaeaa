//! Streams whose results a journal keeps. In a replay they return the recorded results, and then continue after them.
//!
//! Streams of calls without a journal are not wrapped, and neither are those whose results follow from what the guest did:
//! standard output, and bodies that the journal has whole.

mod failure;
mod input;
mod output;

pub(super) use failure::{Data, DataRef, HttpFailure, StreamFailure, told};
pub(super) use input::{BodyEnd, JournaledInput, wrap_input};
pub(super) use output::{BodyBytes, JournaledOutput, wrap_output};
