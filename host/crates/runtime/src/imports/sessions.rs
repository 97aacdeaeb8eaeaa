//! Sessions, which other hosts' dialects have: values that a component keeps between calls. A plugin has one for each principal, in
//! its state: same grant, same quota, same rules for private results. No id opens another one, so none need be kept secret;
//! it cannot be guessed all the same, since a component may use it as a key elsewhere.

use super::import_span::ErrorName;
use super::state::{ExpectedVersion, HOST_KEY, PluginState, StateError};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Why a session could not be used.
#[derive(Debug, PartialEq)]
pub enum SessionError {
    /// The id is not that of the call's session.
    NoSuchSession,
    State(StateError),
}

impl ErrorName for SessionError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::NoSuchSession => "not-found",
            Self::State(error) => error.error_name(),
        }
    }
}

impl From<StateError> for SessionError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// One call's access to the session of its plugin and principal.
pub struct Session<'a> {
    state: PluginState<'a>,
}

impl<'a> Session<'a> {
    pub(super) fn new(state: PluginState<'a>) -> Self {
        Self { state }
    }

    /// In the form of a random UUID, which is what components may check.
    pub fn id(&self) -> String {
        let (version, variant) = (0x4000 << 64, 0x8000 << 48);
        let id = self.state.session_id() & !(0xf000 << 64 | 0xc000 << 48) | version | variant;
        let mut text = format!("{id:032x}");
        [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
        text
    }

    /// Checks that there is such a session, and that it may be used.
    pub fn open(&self, id: &str) -> Result<(), SessionError> {
        self.state.granted()?;
        if id == self.id() { Ok(()) } else { Err(SessionError::NoSuchSession) }
    }

    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        let entry = self.state.get_as(self.state.granted()?, &row(key)).await?;
        Ok(entry.map(|entry| entry.value))
    }

    pub async fn set(&self, key: &str, value: Vec<u8>) -> Result<(), StateError> {
        self.state.put_as(self.state.granted()?, row(key), value, ExpectedVersion::Any).await.map(drop)
    }

    /// Removes what is in it. Returns how many values it had.
    pub async fn clear(&self) -> Result<u64, StateError> {
        let (mut count, mut after) = (0, String::new());
        loop {
            let rows = self.state.keys_as(self.state.granted()?, prefix(), after).await?;
            let Some(last) = rows.last() else { return Ok(count) };
            after = last.clone();
            for row in rows {
                self.state.remove_as(self.state.granted()?, row).await?;
                count += 1;
            }
        }
    }
}

fn prefix() -> String {
    format!("{HOST_KEY}session/")
}

/// The key under which a value is kept: one that no guest of `state` can have, of a size that no guest chooses.
fn row(key: &str) -> String {
    let mut row = prefix();
    for byte in Sha256::digest(key) {
        let _ = write!(row, "{byte:02x}");
    }
    row
}
