//! A directory that is mounted for a plugin, and the access to it.

use super::extent::GrantEntry;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Access to a directory. Ordered: write includes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    /// Read, create, change and delete.
    Write,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

impl GrantEntry for Access {
    fn is_within(&self, other: &Self) -> bool {
        self <= other
    }
}

/// A directory that is mounted for a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Mount {
    /// Directory on this machine.
    pub host: PathBuf,
    pub guest: String,
    /// The lesser of the access that was requested and the access that was granted.
    pub access: Access,
    pub opening: MountOpening,
}

/// How the host opens a directory that is mounted.
#[derive(Debug, Clone, PartialEq)]
pub enum MountOpening {
    /// By its path. Links are followed: the operator decides where they lead.
    ByPath,
    /// Through this directory, which contains the mounted one and which guests may write to. Links that lead out of it are
    /// refused.
    Within(PathBuf),
    /// By its path, and it must not be a link: the directory belongs to the host itself.
    Own,
}
