//! `filesystem`: directories of this machine.

mod grant;
mod guest_path;

pub use grant::FilesystemGrant;
pub(super) use guest_path::{absolute_guest_path, is_below, lexically_clean};

use super::common::capability_use::{CapabilityUse, Subject};
use super::common::mount::{Access, Mount, MountOpening};
use super::common::proposal::{Choice, GrantProposal, RequestedCapability};
use super::common::rules::CapabilityRules;
use crate::denial::{ASK_THE_USER, Denial, quoted};
use crate::identity::PluginId;
use crate::names::is_name;
use bytesize::ByteSize;

pub(crate) struct FilesystemRules;

impl CapabilityRules for FilesystemRules {
    const KEY: &'static str = "filesystem";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["wasi:filesystem/"], "files, of directories that you grant"));
    /// The most access to directories that it may get; the operator chooses the directories.
    type Request = Option<Access>;
    type Grant = Vec<FilesystemGrant>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        let mut taken: Vec<String> = Vec::new();
        for FilesystemGrant { guest, .. } in grant {
            let guest = absolute_guest_path(Self::KEY, guest)?;
            if taken.contains(&guest) {
                return Err(format!(
                    "grants.filesystem: two directories would be at guest = {guest:?}; give each its own"
                ));
            }
            taken.push(guest);
        }
        Ok(())
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        let effect = |access: &Access| match access {
            Access::Read => "reads all files of the directories that you name, and no others",
            Access::Write => "reads, changes and deletes files of the directories that you name",
        };
        let described =
            |access| RequestedCapability { key: Self::KEY, detail: Access::to_string(access), effect: effect(access) };
        request.iter().map(described).collect()
    }

    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        request.filter(|wanted| grant.iter().all(|mount| mount.access < *wanted))
    }

    fn granted(_: &Self::Grant, mounts: &[Mount]) -> Vec<(&'static str, String)> {
        // The scratch directory is a grant of its own.
        let own = |it: &&Mount| it.opening == MountOpening::Own;
        let line = |it: &Mount| (Self::KEY, format!("{} -> {} ({})", it.host.display(), it.guest, it.access));
        mounts.iter().filter(|it| !own(it)).map(line).collect()
    }

    fn propose(requested: RequestedCapability, _: &[String]) -> GrantProposal {
        let access = quoted(&requested.detail);
        let line = format!("filesystem = [{{ host = \"DIRECTORY\", guest = \"/PATH\", access = {access} }}]");
        GrantProposal { choose: Some(Choice::Directory), ..GrantProposal::new(requested, line) }
    }
}

/// A path is opened, as the guest named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemUse {
    /// The path inside the guest.
    pub path: String,
    pub access: Access,
}

impl CapabilityUse for FilesystemUse {
    type Rules = FilesystemRules;
    const KEY: &'static str = FilesystemRules::KEY;
    const QUESTION: &'static str = "read|write PATH";
    const NOT_GRANTED: &'static str = "is outside the granted directories";
    const NOTE: Option<&'static str> = Some("a link that leads out of the directory is refused when it is opened");

    fn parse(words: &[&str]) -> Option<Result<Self, String>> {
        let [access, path] = words else { return None };
        let access = match *access {
            "read" => Access::Read,
            "write" => Access::Write,
            other => return Some(Err(format!("`{other}` is neither `read` nor `write`"))),
        };
        Some(Ok(Self { path: (*path).to_owned(), access }))
    }

    fn target(&self) -> &str {
        &self.path
    }

    fn grant_line(&self) -> String {
        grant_of(&folder_of(&self.path), self.access)
    }

    fn decide(&self, subject: Subject<'_>, requested: &Option<Access>, _: &Vec<FilesystemGrant>) -> Result<(), Denial> {
        mount_for(subject, *requested, &self.path, self.access).map(drop)
    }

    fn entry(&self, granted: &Vec<FilesystemGrant>) -> Option<usize> {
        let clean = lexically_clean(&self.path);
        let inside = |guest: &str| is_below(&clean, guest.trim_end_matches('/'));
        let covering = granted.iter().enumerate().filter(|(_, grant)| inside(&grant.guest));
        covering.max_by_key(|(_, grant)| grant.guest.len()).map(|(at, _)| at)
    }
}

fn grant_of(guest: &str, access: Access) -> String {
    format!(r#"filesystem = [{{ host = "<directory>", guest = {}, access = "{access}" }}]"#, quoted(guest))
}

/// The folder to suggest in a remedy: the first component of an absolute path. A guest chose this text and an operator
/// may paste it, so anything unusual becomes a placeholder.
fn folder_of(path: &str) -> String {
    let first = path.split('/').find(|part| !part.is_empty() && *part != "." && *part != "..");
    match first {
        Some(part) if is_name(part, 64, "._-") => format!("/{part}"),
        _ => "/<folder>".to_owned(),
    }
}

/// The granted directories, each with the lesser of the access that was requested and the access that was granted.
pub(crate) fn requested_mounts(requested: Option<Access>, granted: &[FilesystemGrant]) -> Vec<Mount> {
    match requested {
        None => Vec::new(),
        Some(wanted) => {
            granted.iter().map(|grant| Mount { access: grant.access.min(wanted), ..grant.into() }).collect()
        }
    }
}

/// The mount with this access in which a path is, as the guest names it. Links are not resolved here: the sandbox checks them
/// when it opens the path.
pub(crate) fn mount_for<'a>(
    subject: Subject<'a>,
    requested: Option<Access>,
    path: &str,
    access: Access,
) -> Result<&'a Mount, Denial> {
    match mount_of(subject.mounts, &lexically_clean(path)) {
        Some(mount) if mount.access >= access => Ok(mount),
        _ => Err(path_refused(subject, requested, path, access)),
    }
}

/// The mount that holds this clean path.
fn mount_of<'a>(mounts: &'a [Mount], clean: &str) -> Option<&'a Mount> {
    let inside = |mount: &&Mount| is_below(clean, mount.guest.trim_end_matches('/'));
    mounts.iter().filter(inside).max_by_key(|mount| mount.guest.len())
}

/// The denial for a path that the sandbox refused. `path` is as the guest named it.
pub(crate) fn path_refused(subject: Subject<'_>, requested: Option<Access>, path: &str, access: Access) -> Denial {
    let Subject { plugin, mounts } = subject;
    // The sandbox sees paths relative to a mount. It is known which mount that is only if there is just one.
    let full = match mounts {
        [only] if !path.starts_with('/') => format!("{}/{path}", only.guest),
        _ => path.to_owned(),
    };
    let clean = lexically_clean(&full);
    match mount_of(mounts, &clean) {
        None => match requested {
            None => Denial::requests_no_files(clean),
            // The remedy asks for no more access than the manifest requests: a grant of more would have no effect.
            Some(most) => FilesystemUse { path: clean, access: access.min(most) }.not_granted(plugin),
        },
        Some(mount) if mount.access >= access => leads_outside(path),
        Some(_) if requested != Some(Access::Write) => requests_only_reading(plugin, path),
        Some(mount) => {
            let line = grant_of(&mount.guest, Access::Write);
            Denial::with_grant(plugin, FilesystemUse::KEY, path, "may only be read", &line)
        }
    }
}

/// The path is in a directory that the plugin can only read, whatever is granted, because its manifest does not request to
/// write.
fn requests_only_reading(plugin: &PluginId, path: &str) -> Denial {
    let remedy = format!(
        "The plugin requests read, not write; no grant can change that, only a build of `{}` that requests write",
        plugin.name
    );
    let (reason, advice) = ("may only be read", "No grant can change that");
    Denial { capability: FilesystemUse::KEY, target: path.to_owned(), reason, advice, remedy }
}

/// The path is in a granted directory but leads out of it.
fn leads_outside(path: &str) -> Denial {
    let remedy = "It is in a granted directory but leads out of it, by a link or `..`; grant the directory it leads to";
    let reason = "leads outside the granted directories";
    let (capability, target) = (FilesystemUse::KEY, path.to_owned());
    Denial { capability, target, reason, advice: ASK_THE_USER, remedy: remedy.to_owned() }
}

impl Denial {
    /// The manifest requests no files, so no grant of files has an effect. Programs and other components that were not built
    /// for this host have no manifest at first.
    pub fn requests_no_files(path: impl Into<String>) -> Self {
        let remedy = "Have its manifest request it (`portcullis plugin manifest FILE --set 'requests.filesystem=\"read\"'`), then grant a directory";
        let (capability, target) = (FilesystemUse::KEY, path.into());
        let reason = "is not requested by its manifest";
        Self { capability, target, reason, advice: ASK_THE_USER, remedy: remedy.to_owned() }
    }

    /// The call may grow files in granted directories by `limit` bytes, together with the calls below it. It, or one of its
    /// callers, has used them up.
    pub fn growth_exceeded(plugin: &PluginId, limit: u64) -> Self {
        let remedy = format!(
            "A call gets {}, together with the calls below it; limits.file-growth under [{}] sets it, and that of its callers",
            ByteSize(limit),
            plugin.table()
        );
        let (capability, target) = (FilesystemUse::KEY, "granted directories".to_owned());
        let reason = "would grow by more than a call may write";
        Self { capability, target, reason, advice: ASK_THE_USER, remedy }
    }
}
