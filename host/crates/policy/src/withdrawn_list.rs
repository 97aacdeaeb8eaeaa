//! Components that must not run any more: known to be harmful, or withdrawn by their authors.

use super::Digest;
use std::collections::BTreeMap;

/// The operator's list of withdrawn components, by digest, each with a reason.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WithdrawnList(BTreeMap<Digest, String>);

impl WithdrawnList {
    /// A list of these digests, without reasons.
    pub fn new(digests: impl IntoIterator<Item = Digest>) -> Self {
        let unsaid = |digest| (digest, "the operator's list says so".to_owned());
        Self(digests.into_iter().map(unsaid).collect())
    }

    /// Adds the entries of a text, one `sha256:<digest> <reason>` per line; empty lines and `#` comments are skipped. An
    /// invalid line is an error, because it might name the component that must not run. The error is a sentence.
    pub fn with_lines(mut self, text: &str) -> Result<Self, String> {
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (digest, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let digest = Digest::parse(digest).map_err(|error| format!("line {}: {error}", at + 1))?;
            let reason = match reason.trim() {
                "" => "no reason is given",
                reason => reason,
            };
            self.0.insert(digest, reason.to_owned());
        }
        Ok(self)
    }

    /// Why this component is withdrawn, if it is.
    pub fn reason(&self, digest: &Digest) -> Option<&str> {
        self.0.get(digest).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        let (one, two) = (Digest::sha256(b"1"), Digest::sha256(b"2"));
        let text = format!("# bad ones\n\n  {one}  steals tokens \n{two}\n");
        let list = WithdrawnList::new([Digest::sha256(b"3")]).with_lines(&text).unwrap();
        assert_eq!(list.reason(&one), Some("steals tokens"));
        assert_eq!(list.reason(&two), Some("no reason is given"));
        assert!(list.reason(&Digest::sha256(b"3")).is_some() && list.reason(&Digest::sha256(b"4")).is_none());
        let error = WithdrawnList::default().with_lines(&format!("{one}\nsha256:12 x")).unwrap_err();
        assert!(error.starts_with("line 2: `sha256:12` is not a digest"), "{error}");
    }
}
