//! The credentials of `[sources]`: read when they are needed, sent to their source only, never shown.

use super::settings::SourceSettings;
use base64::Engine;
use platform::files::read_key_file;
use platform::outbound::header::HeaderValue;
use std::path::Path;
use zeroize::Zeroizing;

/// The longest password in bytes. Tokens are passwords too.
const MAX_PASSWORD_BYTES: u64 = 16 << 10;

/// `user:password`.
pub(super) struct Credentials(Zeroizing<String>);

impl Credentials {
    /// The value of the `Authorization` header.
    pub(super) fn basic_header(&self) -> HeaderValue {
        let text = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(self.0.as_bytes()));
        // Base64 is always a valid header value.
        let mut value = HeaderValue::try_from(format!("Basic {}", *text)).unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// Reads the credentials of a source, if it has any. The error contains nothing of them.
pub(super) fn read_credentials(settings: &SourceSettings) -> Result<Option<Credentials>, String> {
    let Some(user) = &settings.user else { return Ok(None) };
    let password = match (&settings.password_file, &settings.password_env) {
        (Some(path), _) => read_password_file(path)?,
        (None, Some(name)) => {
            settings.password.clone().ok_or_else(|| format!("the variable {name} (password-env) is not set"))?
        }
        (None, None) => return Err("there is a user but no password".into()),
    };
    let password = password.trim();
    if password.is_empty() || password.len() as u64 > MAX_PASSWORD_BYTES || password.chars().any(char::is_control) {
        return Err("the password must be one line and not empty".into());
    }
    Ok(Some(Credentials(Zeroizing::new(format!("{user}:{password}")))))
}

fn read_password_file(path: &Path) -> Result<Zeroizing<String>, String> {
    read_key_file(path, "the password of a source", MAX_PASSWORD_BYTES)
        .map_err(|error| format!("password-file {} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(password: Option<&str>) -> SourceSettings {
        let password = password.map(|password| password.to_owned().into());
        SourceSettings { user: Some("me".into()), password_env: Some("P".into()), password, ..Default::default() }
    }

    #[test]
    fn the_header_is_sent_but_not_shown() {
        let header = read_credentials(&settings(Some("pass word\n"))).unwrap().unwrap().basic_header();
        assert_eq!(header.to_str().unwrap(), "Basic bWU6cGFzcyB3b3Jk");
        assert!(!format!("{header:?}").contains("bWU6"));
        assert!(read_credentials(&SourceSettings::default()).unwrap().is_none());
        for (password, words) in
            [(None, "P (password-env) is not set"), (Some(" "), "one line"), (Some("a\nb"), "one line")]
        {
            let error = read_credentials(&settings(password)).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_password_is_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let table = SourceSettings { password_file: Some(path.clone()), ..settings(None) };
        assert!(read_credentials(&table).err().unwrap().contains("cannot be read"));
        std::fs::write(&path, "hunter2\n").unwrap();
        assert!(read_credentials(&table).unwrap().is_some());
    }
}
