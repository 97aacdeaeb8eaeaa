//! Identifies the data of a plugin: it is kept under the plugin's name and the place that the plugin was installed from.

use super::{Digest, PluginId};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The longest name of a folder, in bytes. File systems limit it to 255.
const MAX_FOLDER_NAME: usize = 200;
/// The longest key, in bytes; references are shorter. Bounds what the lock file can make the host keep with each value.
const MAX_BYTES: usize = 4_096;

/// The key under which the host keeps a plugin's values, its scratch directory and what it publishes. Another component that
/// takes the plugin's name has another key, and cannot find this data.
///
/// For a plugin whose file the operator chooses in the configuration, the key is `plugins.weather`. For an installed plugin the
/// source is added: `plugins.weather@oci://registry.example.com/acme/weather`. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataKey(Arc<str>);

impl DataKey {
    /// For a plugin that the configuration names.
    pub fn configured(id: &PluginId) -> Self {
        Self(id.table().into())
    }

    /// For a plugin that was installed from this source. The version is left out, so that updates find the same data.
    pub fn installed(id: &PluginId, source: &str) -> Self {
        Self(format!("{id}@{source}").into())
    }

    /// Reads what [`DataKey::as_str`] wrote for a plugin of this name; the error is a sentence.
    pub fn parse(id: &PluginId, text: &str) -> Result<Self, String> {
        let table = id.table();
        let is_own = text.strip_prefix(&table).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
        if !is_own || text.len() > MAX_BYTES || text.chars().any(char::is_control) {
            return Err(format!(
                "`data` must be `{table}`, or `{table}@` with a source; that of another plugin is not given to it"
            ));
        }
        Ok(Self(text.into()))
    }

    /// Reads a key that the host stored. It is not checked: it is only compared with others.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the plugin was installed from. None if the configuration names it.
    pub fn source(&self) -> Option<&str> {
        Some(self.0.split_once('@')?.1)
    }

    /// The key as the name of a folder. Different keys have different names.
    pub fn folder_name(&self) -> String {
        let mut name = String::with_capacity(self.0.len());
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"._-@".contains(&byte) {
                name.push(byte.into());
            } else {
                // Writing to a text cannot fail.
                let _ = write!(name, "%{byte:02x}");
            }
        }
        if name.len() > MAX_FOLDER_NAME {
            name.truncate(MAX_FOLDER_NAME - 65);
            name = format!("{name}~{}", Digest::sha256(self.0.as_bytes()).hex());
        }
        name
    }

    /// The key of the plugin of this name that has this folder. None if the folder belongs to another plugin, or if its name
    /// was cut.
    pub fn from_folder_name(id: &PluginId, name: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(name.len());
        let mut rest = name.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                byte => byte,
            });
        }
        let key = Self::parse(id, std::str::from_utf8(&bytes).ok()?).ok()?;
        (key.folder_name() == name).then_some(key)
    }
}

impl fmt::Display for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    #[test]
    fn a_key_is_of_one_plugin_from_one_source() {
        let id = PluginId { side: Side::Server, name: "shop".into() };
        let (own, one) = (DataKey::configured(&id), DataKey::installed(&id, "oci://r.example/acme/shop"));
        assert_eq!((own.as_str(), own.source()), ("plugins.shop", None));
        assert_eq!(one.source(), Some("oci://r.example/acme/shop"));
        for key in [&own, &one] {
            assert_eq!(DataKey::parse(&id, key.as_str()).as_ref(), Ok(key));
        }
        for other in ["plugins.shopping", "plugins.sho", "agent.shop@x", "", "plugins.shop@a\nb"] {
            assert!(DataKey::parse(&id, other).unwrap_err().contains("`plugins.shop@`"), "{other}");
        }
    }

    #[test]
    fn names_of_folders_are_short_and_differ() {
        let id = PluginId { side: Side::Agent, name: "a".into() };
        assert_eq!(DataKey::configured(&id).folder_name(), "agent.a");
        assert_eq!(DataKey::installed(&id, "file:/x y").folder_name(), "agent.a@file%3a%2fx%20y");
        let read = |name: &str| DataKey::from_folder_name(&id, name);
        let with_space = DataKey::installed(&id, "file:/x y");
        assert_eq!(read(&with_space.folder_name()), Some(with_space));
        assert_eq!(read("agent.a"), Some(DataKey::configured(&id)));
        for other in ["agent.b", "agent.a@%", "agent.a@%zz", "agent.a@file:", "agent.a@%ff"] {
            assert_eq!(read(other), None, "{other}");
        }
        let long = |end: &str| DataKey::installed(&id, &("x".repeat(1_000) + end)).folder_name();
        assert!(long("1") != long("2") && long("1").len() <= MAX_FOLDER_NAME);
        // A name that was cut cannot equal one that was not: only names that were cut contain `~`.
        assert!(!DataKey::installed(&id, "a~b").folder_name().contains('~'));
    }
}
