//! `permissions.storage`: directories. Wassette takes each URI as one directory; patterns and single files in it never worked.

use super::policy_text::Node;
use super::remarks::Remarks;
use policy::Access;
use std::path::{Path, PathBuf};

/// An entry of the policy.
struct Entry {
    line: usize,
    uri: String,
    /// Without the scheme, and without `/**` at its end.
    path: String,
    read: bool,
    write: bool,
}

/// A directory that is granted.
#[derive(Debug, PartialEq)]
pub(super) struct Directory {
    pub(super) host: PathBuf,
    pub(super) guest: String,
    pub(super) access: Access,
}

/// `folder`: what paths that do not begin with `/` are relative to.
pub(super) fn translate(node: &Node, folder: Option<&Path>, remarks: &mut Remarks) -> Vec<Directory> {
    let (mut allowed, mut denied) = (Vec::new(), Vec::new());
    for (key, list) in node.members("storage", remarks) {
        let entries = match key.as_str() {
            "allow" => &mut allowed,
            "deny" => &mut denied,
            other => {
                remarks.leave_out(list.line, format!("storage has no key `{other}`"));
                continue;
            }
        };
        for item in list.items(key, remarks) {
            entries.extend(Entry::read(item, remarks));
        }
    }
    let mut directories: Vec<Directory> = Vec::new();
    for entry in &allowed {
        match entry.directory(folder, &denied) {
            Err(why) => remarks.leave_out(entry.line, format!("`{}` is not granted: {why}", entry.uri)),
            Ok(directory) if directory.guest == "/" => {
                remarks.leave_out(
                    entry.line,
                    format!("`{}` is everything on this machine; name the directories", entry.uri),
                );
            }
            Ok(directory) => match directories.iter_mut().find(|known| known.guest == directory.guest) {
                Some(known) => known.access = known.access.max(directory.access),
                None => directories.push(directory),
            },
        }
    }
    for entry in denied.iter().filter(|entry| !allowed.iter().any(|allowed| allowed.touches(entry))) {
        remarks.note(entry.line, format!("`{}` needs no rule: nothing is granted there", entry.uri));
    }
    directories
}

impl Entry {
    fn read(node: &Node, remarks: &mut Remarks) -> Option<Self> {
        let mut entry = Self { line: node.line, uri: String::new(), path: String::new(), read: false, write: false };
        let before = remarks.left_out.len();
        for (key, value) in node.members("an entry of storage", remarks) {
            match (key.as_str(), value.text()) {
                ("uri", Some(uri)) => uri.clone_into(&mut entry.uri),
                ("access", _) => {
                    for access in value.items("access", remarks) {
                        match access.text() {
                            Some("read") => entry.read = true,
                            Some("write") => entry.write = true,
                            _ => remarks.leave_out(access.line, "access is `read` or `write`"),
                        }
                    }
                }
                _ => remarks.leave_out(value.line, format!("an entry of storage has no key `{key}` like that")),
            }
        }
        let path = entry.uri.strip_prefix("fs://");
        match path {
            None => remarks.leave_out(entry.line, format!("`{}` is no `fs://` URI", entry.uri)),
            Some(path) => path.strip_suffix("/**").unwrap_or(path).clone_into(&mut entry.path),
        }
        (remarks.left_out.len() == before).then_some(entry)
    }

    /// The error is the end of a sentence about why nothing is granted.
    fn directory(&self, folder: Option<&Path>, denied: &[Self]) -> Result<Directory, String> {
        if let Some(deny) = denied.iter().find(|deny| self.touches(deny)) {
            return Err(format!(
                "line {} denies `{}`, and a grant has no exceptions; allow smaller directories",
                deny.line, deny.uri
            ));
        }
        if self.path.contains(['*', '?', '[', '{']) {
            return Err("it is a pattern, and whole directories are granted; name the directory".into());
        }
        let parts = || self.path.trim_start_matches('/').split('/');
        if parts().any(|part| part == "." || part == "..") || self.path.contains("//") {
            return Err("its path has `.`, `..` or nothing between two slashes".into());
        }
        let access = match (self.read, self.write) {
            (true, true) => Access::Write,
            (true, false) => Access::Read,
            (false, true) => {
                return Err(
                    "it is write without read, and a grant of write includes read; add `read` to the policy".into()
                );
            }
            (false, false) => return Err("it has no access".into()),
        };
        let host = match (Path::new(&self.path).is_absolute(), folder) {
            (true, _) => PathBuf::from(&self.path),
            (false, Some(folder)) if !self.path.is_empty() => folder.join(&self.path),
            (false, Some(_)) => return Err("it has no path".into()),
            (false, None) => {
                return Err("its path is relative to a folder of Wassette's; say which one with --folder".into());
            }
        };
        if host.is_file() {
            return Err("it is a single file, and whole directories are granted".into());
        }
        let guest = format!("/{}", self.path.trim_matches('/'));
        Ok(Directory { host, guest, access })
    }

    /// Whether a denial may cover a part of this entry.
    fn touches(&self, deny: &Self) -> bool {
        let (own, other) = (fixed_parts(&self.path), fixed_parts(&deny.path));
        let common = own.iter().zip(&other).take_while(|(own, other)| own == other).count();
        common == own.len().min(other.len()) && (self.read && deny.read || self.write && deny.write)
    }
}

/// The parts of a path before the first pattern.
fn fixed_parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).take_while(|part| !part.contains(['*', '?', '[', '{'])).collect()
}
