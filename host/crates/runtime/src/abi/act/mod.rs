//! `act:tools-sync`, the synchronous tier of ACT: arguments are CBOR, results are parts of any media type.

mod bindings;
mod cbor;
mod exports;
mod localized;
mod result;

pub(super) use exports::ActExports;
