//! What is recorded of a step for people who look at its call. No run depends on it.

use platform::text::truncate;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes of a name. Bounds what a guest adds to its journal by asking for something with a long one.
const MAX_NAME: usize = 128;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// What the step is about: the tool that it calls, the host that it asks. Never an argument, a path or a query.
    pub name: Option<String>,
    /// Milliseconds until the answer was there.
    pub took: u32,
    /// Milliseconds that earlier steps of the same call took which found nothing and were not recorded.
    pub polled: u32,
}

impl Remark {
    pub(super) fn named(name: Option<&str>) -> Self {
        Self { name: name.map(|name| truncate(name, MAX_NAME).to_owned()), ..Self::default() }
    }

    pub(super) fn took(time: Duration) -> Self {
        Self { took: millis(time), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
