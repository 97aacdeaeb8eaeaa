//! `scratch`: a directory of the plugin's own, which is kept between calls.

use super::common::capability_use::{CapabilityUse, use_without_target};
use super::common::extent::GrantEntry;
use super::common::mount::Mount;
use super::common::proposal::{GrantProposal, RequestedCapability};
use super::common::rules::{CapabilityRules, requested_flag};
use super::filesystem::{FilesystemGrant, absolute_guest_path, is_below, lexically_clean};
use crate::denial::Denial;
use crate::identity::PluginId;
use crate::limits::check_range;
use crate::limits::exact_size;
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Size of a scratch directory. Bounds the disk, and the number of files that are counted before a call.
const SIZE: RangeInclusive<ByteSize> = ByteSize::kib(4)..=ByteSize::gib(64);

/// The scratch directory of a plugin, which is kept between calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ScratchGrant {
    /// Where the guest sees it; absolute.
    pub guest: String,
    /// Size of all files together. Writes beyond it fail, and a call is refused if the directory is larger when it starts.
    /// Bounds the disk.
    #[serde(serialize_with = "exact_size")]
    pub size: ByteSize,
}

impl Default for ScratchGrant {
    fn default() -> Self {
        Self { guest: "/scratch".into(), size: ByteSize::mib(64) }
    }
}

impl GrantEntry for ScratchGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { guest, size } = self;
        *guest == other.guest && *size <= other.size
    }
}

pub(crate) struct ScratchRules;

impl CapabilityRules for ScratchRules {
    const KEY: &'static str = "scratch";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> = None;
    type Request = bool;
    type Grant = Option<ScratchGrant>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        let Some(ScratchGrant { guest, size }) = grant else { return Ok(()) };
        check_range("grants.scratch: size", *size, SIZE)?;
        absolute_guest_path(Self::KEY, guest).map(drop)
    }

    fn requested(request: &bool) -> Vec<RequestedCapability> {
        let effect = "keeps files from call to call, in a directory of its own that all its calls share";
        requested_flag(*request, Self::KEY, effect)
    }

    fn ungranted(request: &bool, grant: &Self::Grant) -> bool {
        *request && grant.is_none()
    }

    fn granted(grant: &Self::Grant, mounts: &[Mount]) -> Vec<(&'static str, String)> {
        let line = |ScratchGrant { guest, size }: &ScratchGrant| {
            let here = mounts.iter().find(|it| it.guest == *guest).map(|it| format!("{} -> ", it.host.display()));
            (Self::KEY, format!("{}{guest} ({size})", here.unwrap_or_default()))
        };
        grant.iter().map(line).collect()
    }

    fn propose(requested: RequestedCapability, _: &[String]) -> GrantProposal {
        GrantProposal::new(requested, "scratch = {}".to_owned())
    }
}

/// Refuses a scratch directory that would lie in a granted one, or the other way round.
pub(super) fn check_place(scratch: Option<&ScratchGrant>, filesystem: &[FilesystemGrant]) -> Result<(), String> {
    let Some(ScratchGrant { guest, .. }) = scratch else { return Ok(()) };
    let own = lexically_clean(guest);
    let root = |path: &str| path.trim_end_matches('/').to_owned();
    let mut granted = filesystem.iter().map(|grant| lexically_clean(&grant.guest));
    match granted.find(|other| is_below(&own, &root(other)) || is_below(other, &root(&own))) {
        Some(other) => Err(format!(
            "grants.scratch: guest = {own:?} and the directory at {other:?} would lie in one another; give it a place of its own"
        )),
        None => Ok(()),
    }
}

/// The directory is used. A guest without the grant does not find it and gets no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchUse;

use_without_target!(ScratchUse, ScratchRules, "scratch": "a directory of its own", granted by "scratch = {}");

impl Denial {
    /// The plugin's scratch directory would hold more than `limit` bytes.
    pub fn scratch_full(plugin: &PluginId, limit: u64) -> Self {
        let more = ByteSize(limit.saturating_mul(2));
        let line = format!("scratch = {{ size = \"{more}\" }}");
        Self::with_grant(plugin, ScratchUse::KEY, ScratchUse.target(), "is full", &line)
    }
}
