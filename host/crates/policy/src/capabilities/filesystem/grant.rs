//! The directories that the operator grants.

use crate::capabilities::common::extent::GrantEntry;
use crate::capabilities::common::mount::{Access, Mount, MountOpening};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A directory that the operator grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesystemGrant {
    /// Directory on this machine; relative to the configuration file.
    pub host: PathBuf,
    /// Where the guest sees it; absolute.
    pub guest: String,
    pub access: Access,
    /// The outermost granted directory that contains this one and that guests may write to. It is not configured but found by
    /// [`note_enclosing`](crate::note_enclosing).
    #[serde(skip)]
    pub within: Option<PathBuf>,
}

impl GrantEntry for FilesystemGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { host, guest, access, within: _ } = self;
        *host == other.host && *guest == other.guest && *access <= other.access
    }
}

impl From<&FilesystemGrant> for Mount {
    fn from(grant: &FilesystemGrant) -> Self {
        let FilesystemGrant { host, guest, access, within } = grant.clone();
        let opening = within.map_or(MountOpening::ByPath, MountOpening::Within);
        Self { host, guest, access, opening }
    }
}
