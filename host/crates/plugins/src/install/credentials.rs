//! Who we are to a source: read when it is needed, sent to that source alone, shown to nobody.

use super::settings::SourceSettings;
use base64::Engine;
use platform::outbound::credential;
use platform::outbound::header::HeaderValue;
use std::path::Path;
use zeroize::Zeroizing;

/// The longest password, in bytes: tokens are passwords too.
const LONGEST: u64 = 16 << 10;

/// User and password.
pub(super) struct Credentials(Zeroizing<String>);

impl Credentials {
    /// The header that carries them.
    pub(super) fn basic(&self) -> HeaderValue {
        let text = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(self.0.as_bytes()));
        // Base64 can always stand in a header.
        let mut value = HeaderValue::try_from(format!("Basic {}", *text)).unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// Those of a source's table; none where it has none. The error is a sentence that holds nothing of them.
pub(super) fn read(settings: &SourceSettings) -> Result<Option<Credentials>, String> {
    let Some(user) = &settings.user else { return Ok(None) };
    let password = match (&settings.password_file, &settings.password_env) {
        (Some(path), _) => file(path)?,
        (None, Some(name)) => {
            settings.password.clone().ok_or_else(|| format!("the variable {name} (password-env) is not set"))?
        }
        (None, None) => return Err("there is a user and no password".into()),
    };
    let password = password.trim();
    if password.is_empty() || password.len() as u64 > LONGEST || password.chars().any(char::is_control) {
        return Err("the password must be one line and not empty".into());
    }
    Ok(Some(Credentials(Zeroizing::new(format!("{user}:{password}")))))
}

fn file(path: &Path) -> Result<Zeroizing<String>, String> {
    credential(path, "the password of a source", LONGEST)
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
    fn are_sent_and_not_shown() {
        let header = read(&settings(Some("pass word\n"))).unwrap().unwrap().basic();
        assert_eq!(header.to_str().unwrap(), "Basic bWU6cGFzcyB3b3Jk");
        assert!(!format!("{header:?}").contains("bWU6"));
        assert!(read(&SourceSettings::default()).unwrap().is_none());
        for (password, words) in
            [(None, "P (password-env) is not set"), (Some(" "), "one line"), (Some("a\nb"), "one line")]
        {
            let error = read(&settings(password)).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn come_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let table = SourceSettings { password_file: Some(path.clone()), ..settings(None) };
        assert!(read(&table).err().unwrap().contains("cannot be read"));
        std::fs::write(&path, "hunter2\n").unwrap();
        assert!(read(&table).unwrap().is_some());
    }
}
