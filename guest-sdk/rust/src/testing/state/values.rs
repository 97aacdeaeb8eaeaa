//! Stored values, and their size limit.

use std::collections::BTreeMap;

use crate::bindings::portcullis::plugin::state::Entry;

#[derive(Default)]
pub(crate) struct Values {
    pub(crate) kept: BTreeMap<String, Entry>,
    pub(crate) version: u64,
    pub(crate) limit: Option<u64>,
}
