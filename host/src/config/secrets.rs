//! `[secrets.NAME]`, resolved.

use super::{ConfigError, home_expanded, is_name};
use platform::secrets::SecretSource;
use std::collections::BTreeMap;
use std::path::Path;

/// Checks names and makes paths absolute.
pub(super) fn checked(
    tables: BTreeMap<String, SecretSource>,
    path: &Path,
    folder: &Path,
) -> Result<BTreeMap<String, SecretSource>, ConfigError> {
    let one = |(name, source): (String, SecretSource)| {
        if !is_name(&name) {
            let message = "the name must be 1 to 32 of A-Z a-z 0-9 - _".into();
            return Err(ConfigError::Table { path: path.to_owned(), table: format!("secrets.{name}"), message });
        }
        Ok((name, source.resolved(|file| folder.join(home_expanded(file)))))
    };
    tables.into_iter().map(one).collect()
}
