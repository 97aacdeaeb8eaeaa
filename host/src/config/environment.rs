//! The environment variables of this process, and those that upstream programs inherit.

use super::DEFAULT_FILE;
use super::error::ConfigError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that upstream programs inherit: those that most programs need, and no secrets.
pub(super) fn inherited() -> Vec<(String, OsString)> {
    let names = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
    names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?))).collect()
}

pub fn environment_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A path that begins with `~`, as shells have it. Agents that start a server do not expand it.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

/// The file that is read unless one is named: `PORTCULLIS_CONFIG`, or [`DEFAULT_FILE`] here.
pub fn default_file() -> PathBuf {
    folder("PORTCULLIS_CONFIG").map_or_else(|| DEFAULT_FILE.into(), |file| expand_home(&file))
}

fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The state folder that `PORTCULLIS_STATE` names.
pub(super) fn state_variable() -> Option<PathBuf> {
    folder("PORTCULLIS_STATE")
}

/// `portcullis` in the user's state folder.
pub(super) fn default_state_base() -> Option<PathBuf> {
    folder("XDG_STATE_HOME")
        .map(|state| state.join("portcullis"))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/portcullis")))
}

/// `PORTCULLIS_CACHE`, or `portcullis` in the user's cache folder.
pub fn default_cache() -> Result<PathBuf, ConfigError> {
    folder("PORTCULLIS_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("portcullis")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/portcullis")))
        .ok_or_else(|| ConfigError::Environment("no cache folder: set PORTCULLIS_CACHE or server.cache".into()))
}

/// The files and folders of `SSL_CERT_FILE` and `SSL_CERT_DIR`, whose certificates replace those of the system.
pub fn certificates() -> Vec<PathBuf> {
    let folders = std::env::var_os("SSL_CERT_DIR").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty());
    folder("SSL_CERT_FILE").into_iter().chain(folders).collect()
}

/// Whether the terminal says that its cursor cannot be moved, such as that of an editor or of a CI.
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

pub fn editor() -> Option<String> {
    ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.trim().is_empty()))
}

/// `PORTCULLIS_LOG`, in the syntax of tracing filters. By default most messages of rmcp are hidden, because clients can
/// cause them and could fill the log.
pub fn log_filter() -> String {
    let quiet = "info,rmcp=error,rmcp::service=off,rmcp::transport::common::server_side_http=off";
    std::env::var("PORTCULLIS_LOG").unwrap_or_else(|_| quiet.into())
}

/// The filter for one call at a terminal. It hides warnings about the call, since the command reports at its end what went
/// wrong and how often something was denied.
pub fn call_log_filter() -> String {
    std::env::var("PORTCULLIS_LOG").unwrap_or_else(|_| format!("{},{REPORTED_CALLS}", log_filter()))
}

const REPORTED_CALLS: &str =
    "portcullis_runtime::imports::call_authority=error,portcullis_plugins::calls::runner=error";

/// The filter for interactive commands, which log warnings and errors only. They report themselves which server is not
/// connected.
pub fn quiet_log_filter() -> String {
    std::env::var("PORTCULLIS_LOG").unwrap_or_else(|_| format!("warn,rmcp=off,{REPORTED_SERVERS}"))
}

const REPORTED_SERVERS: &str = "portcullis_upstream::connection::reconnect=error";

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A filter for a module that was moved would hide nothing.
    #[test]
    fn filters_name_modules_that_exist() {
        for filter in [REPORTED_CALLS, REPORTED_SERVERS].iter().flat_map(|filters| filters.split(',')) {
            let (module, _) = filter.split_once('=').unwrap();
            let path = module.strip_prefix("portcullis_").unwrap().replacen("::", "/src/", 1).replace("::", "/");
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(format!("{path}.rs"));
            assert!(file.is_file(), "{module}");
        }
    }
}
