//! What others get of this process's environment, by name.

use std::ffi::OsString;

/// What a program that is a server finds of our environment: what programs cannot do without, and none of our secrets.
pub(super) fn inherited() -> Vec<(String, OsString)> {
    let names = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
    names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?))).collect()
}

/// A variable of this process's environment that an operator named.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
