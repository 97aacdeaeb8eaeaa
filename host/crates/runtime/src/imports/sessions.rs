//! Sessions, which the dialects of other hosts have: values that a component keeps between calls. A plugin has one session for
//! each principal. It is kept in the plugin's state, with the same grant, the same quota and the same rules for private
//! results. No id opens the session of somebody else, so ids need not be secret. They still cannot be guessed, because a
//! component may use one as a key elsewhere.

use super::import_span::ErrorName;
use super::state::{ExpectedVersion, HOST_KEY, PluginState, StateError};
use platform::random::unique_id;
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

    /// If nothing can be kept, the id is one that no other call has, because a component may use it as a key elsewhere.
    pub fn id(&self) -> String {
        let of_call = || u128::from_str_radix(self.state.call_id(), 16).unwrap_or_else(|_| unique_id());
        to_uuid(self.state.session_id().unwrap_or_else(of_call))
    }

    /// Checks that there is such a session, and that it may be used.
    pub fn open(&self, id: &str) -> Result<(), SessionError> {
        self.state.granted()?;
        let Some(own) = self.state.session_id() else { return Err(self.state.why_nothing_is_kept().into()) };
        if id == to_uuid(own) { Ok(()) } else { Err(SessionError::NoSuchSession) }
    }

    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        let entry = self.state.get_as(self.state.granted()?, &row(key)).await?;
        Ok(entry.map(|entry| entry.value))
    }

    pub async fn set(&self, key: &str, value: Vec<u8>) -> Result<(), StateError> {
        self.state.put_as(self.state.granted()?, row(key), value, ExpectedVersion::Any).await.map(drop)
    }

    /// Removes all values and returns how many there were.
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

/// Formats the id as a random UUID, because components may check for that form.
fn to_uuid(id: u128) -> String {
    let (version, variant) = (0x4000 << 64, 0x8000 << 48);
    let mut text = format!("{:032x}", id & !(0xf000 << 64 | 0xc000 << 48) | version | variant);
    [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
    text
}

fn prefix() -> String {
    format!("{HOST_KEY}session/")
}

/// The key under which a value is kept. No guest can use such a key through `state`, and its size does not depend on the
/// guest's key.
fn row(key: &str) -> String {
    let mut row = prefix();
    for byte in Sha256::digest(key) {
        let _ = write!(row, "{byte:02x}");
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::call_scope::CallScope;
    use crate::imports::{CallContext, UnusableState};
    use crate::journal::CallJournal;
    use policy::{Authority, Limits, Lineage, PluginId, Side};
    use std::sync::Arc;

    #[test]
    fn ids_are_uuids() {
        assert_eq!(to_uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(to_uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(to_uuid(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef), "01234567-89ab-4def-8123-456789abcdef");
    }

    #[test]
    fn rows_are_of_one_size_and_no_keys_of_guests() {
        assert_eq!(row("").len(), row(&"k".repeat(1 << 20)).len());
        assert!(row("a") != row("b") && row("a").starts_with("~session/"));
    }

    #[test]
    fn a_host_that_keeps_nothing_says_so() {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let (requests, grants) = (toml::from_str("state = true").unwrap(), toml::from_str("state = {}").unwrap());
        let limits = Arc::new(Limits::default());
        let lineage = Lineage::root("plugins.p.x", &limits);
        let authority = Arc::new(Authority::new(plugin, &requests, &grants));
        let scope = CallScope::new(CallContext::new("local"), authority, lineage, limits);
        let journal = CallJournal::default();
        let session = Session::new(PluginState::new(&scope, &UnusableState::NO_FOLDER, &journal));
        assert_eq!(session.id(), session.id(), "one for the whole call");
        let Err(SessionError::State(StateError::Failed(reason))) = session.open(&session.id()) else {
            panic!("nothing can be opened")
        };
        assert!(reason.contains("no state folder"), "{reason}");
    }
}
