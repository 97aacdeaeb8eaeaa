//! The granted folders, and clear errors about files.
//!
//! Files are read and written with `std::fs`; the host allows only what was granted. The functions here turn a path
//! from a model into a usable one, and an error of the system into a [`ToolError`].

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::{Denial, ToolError, imports};

/// "Operation not permitted" is how the sandbox refuses. "Permission denied" comes from the host's own file modes.
#[cfg(target_arch = "wasm32")]
const NOT_PERMITTED: i32 = 63;
#[cfg(not(target_arch = "wasm32"))]
const NOT_PERMITTED: i32 = 1;

/// The folders that were granted, as the plugin sees them.
pub fn folders() -> Vec<PathBuf> {
    imports::folders()
}

/// Turns a path from a model into an absolute path without `.` and `..`, inside one of the granted folders.
///
/// A relative path starts at the granted folder, if there is exactly one.
///
/// # Errors
/// [`ToolError::Denied`] when the path lies outside. The host would refuse it too, but cannot always say so this
/// clearly.
pub fn resolve(path: &str) -> Result<PathBuf, ToolError> {
    let folders = folders();
    let denied = || ToolError::Denied(Denial::new("filesystem", path));
    let absolute = match folders.as_slice() {
        [] => return Err(denied()),
        _ if Path::new(path).has_root() => PathBuf::from(path),
        [folder] => folder.join(path),
        _ => {
            let names: Vec<_> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
            return Err(ToolError::invalid(format_args!(
                "`{path}` is relative; start it with one of {}",
                names.join(", ")
            )));
        }
    };
    let normal = normalise(&absolute).ok_or_else(denied)?;
    if folders.iter().any(|folder| normal.starts_with(folder)) { Ok(normal) } else { Err(denied()) }
}

/// Describes what went wrong with a file.
pub fn explain(path: &Path, error: &io::Error) -> ToolError {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none_or(|code| code == NOT_PERMITTED) => {
            Denial::new("filesystem", path.to_string()).into()
        }
        io::ErrorKind::PermissionDenied => {
            ToolError::failed(format_args!("`{path}`: the host's file permissions forbid it"))
        }
        io::ErrorKind::NotFound => ToolError::failed(format_args!("`{path}` does not exist")),
        io::ErrorKind::NotADirectory => {
            ToolError::failed(format_args!("`{path}` is not a folder, or something above it is not"))
        }
        io::ErrorKind::IsADirectory => ToolError::failed(format_args!("`{path}` is a folder")),
        _ => ToolError::failed(format_args!("`{path}`: {error}")),
    }
}

/// Resolves `.` and `..` by name only; `None` when the path leads above the root. The host checks where a symbolic link
/// leads.
fn normalise(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            other => normal.push(other),
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::Host;

    fn denied(path: &str) -> bool {
        matches!(resolve(path), Err(ToolError::Denied(denial)) if denial.target == path && denial.capability == "filesystem")
    }

    #[test]
    fn paths_stay_inside() {
        let _host = Host::new().folder("/src");
        assert_eq!(resolve("a/./b").unwrap(), Path::new("/src/a/b"));
        assert_eq!(resolve("/src/a/../b").unwrap(), Path::new("/src/b"));
        assert_eq!(resolve(".").unwrap(), Path::new("/src"));
        for path in ["..", "../../etc/passwd", "/etc/passwd", "/src/../etc", "/srcs", "/", "/../../x"] {
            assert!(denied(path), "{path}");
        }
    }

    #[test]
    fn a_relative_path_needs_one_folder() {
        {
            let _host = Host::new();
            assert!(denied("a"), "nothing is granted");
        }
        let _host = Host::new().folder("/src").folder("/notes");
        let error = resolve("a").unwrap_err();
        assert_eq!(error, ToolError::InvalidArguments("`a` is relative; start it with one of `/src`, `/notes`".into()));
        assert_eq!(resolve("/notes/a").unwrap(), Path::new("/notes/a"));
    }

    #[test]
    fn errors_say_what_happened() {
        let explain = |kind: io::ErrorKind| explain(Path::new("/src/a"), &kind.into());
        assert!(
            matches!(explain(io::ErrorKind::PermissionDenied), ToolError::Denied(denial) if denial.target == "/src/a")
        );
        assert_eq!(explain(io::ErrorKind::NotFound), ToolError::Failed("`/src/a` does not exist".into()));
        assert_eq!(explain(io::ErrorKind::IsADirectory), ToolError::Failed("`/src/a` is a folder".into()));
    }
}
