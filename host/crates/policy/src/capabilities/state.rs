//! `state`: key-value data that is kept from call to call, separately for each principal.

use super::common::capability_use::use_without_target;
use super::common::extent::GrantEntry;
use super::common::mount::Mount;
use super::common::proposal::{GrantProposal, RequestedCapability};
use super::common::rules::{CapabilityRules, requested_flag};
use super::flows::PrivateOrigins;
use crate::limits::check_range;
use crate::limits::exact_size;
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Keys and values of one principal. Bounds the operator's disk.
const SIZE: RangeInclusive<ByteSize> = ByteSize::b(0)..=ByteSize::mib(256);
/// Number of keys of one principal. Bounds the operator's disk where the values are empty.
const KEYS: RangeInclusive<u32> = 0..=1_000_000;

/// The quota of key-value data, per principal. Data stored by calls that have seen private results is kept in separate parts,
/// and the quota holds for each part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StateGrant {
    /// Bytes of keys and values together. Bounds a plugin's use of the operator's disk.
    #[serde(serialize_with = "exact_size")]
    pub size: ByteSize,
    /// Number of keys. Bounds the same as `size` where the values are empty.
    pub keys: u32,
    /// Calls that use state count as if they had seen private results of these origins, and so find the data that was stored by
    /// calls that had. This shows a plugin more of its own data and allows it less, so a manifest does not request it.
    pub private: PrivateOrigins,
}

impl Default for StateGrant {
    fn default() -> Self {
        Self { size: ByteSize::mib(1), keys: 1_000, private: PrivateOrigins::new() }
    }
}

impl GrantEntry for StateGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { size, keys, private } = self;
        *size <= other.size && *keys <= other.keys && private.is_subset(&other.private)
    }
}

pub(crate) struct StateRules;

impl CapabilityRules for StateRules {
    const KEY: &'static str = "state";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> = Some((
        &["portcullis:plugin/state@", "wasmcp:mcp-v20251125/sessions@", "wasmcp:mcp-v20250618/sessions@"],
        "values from call to call, if you grant it",
    ));
    type Request = bool;
    type Grant = Option<StateGrant>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        let Some(StateGrant { size, keys, private: _ }) = grant else { return Ok(()) };
        check_range("grants.state: size", *size, SIZE)?;
        check_range("grants.state: keys", *keys, KEYS)?;
        Ok(())
    }

    fn requested(request: &bool) -> Vec<RequestedCapability> {
        requested_flag(*request, Self::KEY, "keeps values from call to call, separately for each user")
    }

    fn ungranted(request: &bool, grant: &Self::Grant) -> bool {
        *request && grant.is_none()
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        let line = |StateGrant { size, keys, private }: &StateGrant| {
            let private: Vec<_> = private.iter().map(ToString::to_string).collect();
            let private =
                if private.is_empty() { String::new() } else { format!(", private to {}", private.join(", ")) };
            (Self::KEY, format!("{size}, {keys} keys a principal{private}"))
        };
        grant.iter().map(line).collect()
    }

    fn propose(requested: RequestedCapability, _: &[String]) -> GrantProposal {
        GrantProposal::new(requested, "state = {}".to_owned())
    }
}

/// Values are read or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateUse;

use_without_target!(StateUse, StateRules, "state": "values kept from call to call", granted by "state = {}");
