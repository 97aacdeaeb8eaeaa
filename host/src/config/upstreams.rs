//! Servers behind this host: their names, files and environment.

use super::environment::inherited;
use super::{ConfigError, File, home_expanded, is_name};
use std::path::Path;
use upstream::UpstreamSettings;

/// Servers behind this host. Their names are part of tools' names, beside those of plugins.
pub(super) fn all(file: &File, path: &Path, folder: &Path) -> Result<Vec<UpstreamSettings>, ConfigError> {
    let checked = |(name, settings): (&String, &UpstreamSettings)| {
        let fail =
            |message: String| ConfigError::Table { path: path.to_owned(), table: format!("upstream.{name}"), message };
        if !is_name(name) || name.contains("__") {
            return Err(fail("the name must be 1 to 32 of A-Z a-z 0-9 - _, without `__`".into()));
        }
        if file.plugins.contains_key(name) || file.agent.contains_key(name) {
            return Err(fail("a plugin has the same name; tools are told apart by it".into()));
        }
        upstream(name, settings.clone(), folder).map_err(fail)
    };
    file.upstream.iter().map(checked).collect()
}

/// A server to be a client of, with everything resolved: the error is a sentence. Paths are relative to `folder`.
pub fn upstream(name: &str, mut settings: UpstreamSettings, folder: &Path) -> Result<UpstreamSettings, String> {
    settings.key_file = settings.key_file.map(|file| folder.join(home_expanded(&file)));
    settings.named(name, inherited())
}
