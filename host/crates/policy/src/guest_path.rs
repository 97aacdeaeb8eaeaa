//! Paths as guests name them, compared as text. What a path really leads to is decided by the sandbox.

/// Whether a path is this folder or below it. Both must be clean, and the folder must not end in `/`.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path without `.` and `..`.
pub(super) fn lexically_clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
