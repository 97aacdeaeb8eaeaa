//! Paths as guests name them, compared as text. What a path really leads to is decided by the sandbox.

/// Whether a path is this folder or below it. Both must be clean, and the folder must not end in `/`.
pub(in crate::capabilities) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path without `.` and `..`.
pub(in crate::capabilities) fn lexically_clean(path: &str) -> String {
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

/// A clean path in the guest, without a trailing `/`. `key` is that of the grant.
pub(in crate::capabilities) fn absolute_guest_path(key: &str, guest: &str) -> Result<String, String> {
    let clean = lexically_clean(guest);
    if guest.starts_with('/') && guest.trim_end_matches('/') == clean.trim_end_matches('/') {
        return Ok(clean);
    }
    let example = if key == "scratch" { "/scratch" } else { "/src" };
    Err(format!("grants.{key}: guest = {guest:?} must be an absolute path without `.` and `..`, such as {example:?}"))
}
