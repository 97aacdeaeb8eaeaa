//! The endpoint's API key: read once, sent only to the endpoint, never logged.

use platform::files::read_key_file;
use platform::outbound::header::HeaderValue;
use std::path::{Path, PathBuf};

/// Length of the key in bytes.
const MAX_LENGTH: u64 = 8 << 10;

/// A key file that cannot be used. The message contains nothing of the key.
#[derive(Debug, thiserror::Error)]
#[error("[model] key-file {path}: {reason}")]
pub struct KeyError {
    path: PathBuf,
    reason: String,
}

/// The `Authorization` header with the key.
pub(super) fn read(path: &Path) -> Result<HeaderValue, KeyError> {
    let fail = |reason: String| KeyError { path: path.to_owned(), reason };
    let text = read_key_file(path, "the file of the model's key", MAX_LENGTH)
        .map_err(|error| fail(format!("it cannot be read: {error}")))?;
    let key = text.trim();
    if key.is_empty() || text.len() as u64 > MAX_LENGTH || !key.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(fail("it must hold the key and nothing else, in one line without spaces".into()));
    }
    let mut header = HeaderValue::try_from(format!("Bearer {key}"))
        .map_err(|_| fail("it holds what cannot stand in a header".into()))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-123\n").unwrap();
        let header = read(&path).unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer sk-123");
        assert!(!format!("{header:?}").contains("123"));
        for bad in ["", " \n", "two words", "two\nlines", "caf\u{e9}", &"x".repeat(9_000)] {
            std::fs::write(&path, bad).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("must hold the key") && (bad.len() < 3 || !error.contains(bad)), "{error}");
        }
        assert!(read(&folder.path().join("none")).unwrap_err().to_string().contains("cannot be read"));
    }
}
