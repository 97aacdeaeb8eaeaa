//! A directory of a plugin's own: made when the plugin is loaded, and looked at before each of its calls.
//!
//! What is in it was written by a guest, so it is never opened here, only counted. How much a call may add is counted
//! while it writes (`imports/room`); what this process has not seen being written is seen here.

use bytesize::ByteSize;
use policy::{Authority, grant_command};
use runtime::engine::CallError;
use runtime::imports::{ENTRY, Room};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that cannot be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum ScratchError {
    #[error("grants.scratch needs a folder of its own: set PORTCULLIS_STATE or server.state")]
    NoState,
    #[error(
        "the scratch directory {path} cannot be used: {problem}; move it away, or set PORTCULLIS_STATE or server.state to a folder of your own"
    )]
    Folder { path: PathBuf, problem: String },
}

/// Makes the directory, for this user only, and says how much room it has.
pub(super) fn prepare(authority: &Authority) -> Result<Option<Arc<Room>>, ScratchError> {
    let Some((folder, limit)) = authority.scratch_folder() else {
        return authority.scratch().map_or(Ok(None), |_| Err(ScratchError::NoState));
    };
    let unusable = |error: std::io::Error| ScratchError::Folder { path: folder.to_owned(), problem: error.to_string() };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    // Not through a link: whoever could put one here would choose what the guest writes into.
    let found = fs::symlink_metadata(folder).map_err(unusable)?;
    if !found.is_dir() {
        return Err(unusable(std::io::Error::other("it is a link")));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
    }
    Ok(Some(Arc::new(Room::new(limit))))
}

/// Refuses a call of a plugin whose directory holds more than was granted, and tells its room how much that is.
pub(super) async fn admit(authority: &Authority, room: Option<&Arc<Room>>) -> Result<(), CallError> {
    let (Some((folder, _)), Some(room)) = (authority.scratch_folder(), room) else { return Ok(()) };
    let (path, limit, since) = (folder.to_owned(), room.limit(), room.now());
    let found = tokio::task::spawn_blocking(move || size(&path, limit)).await.map_err(CallError::internal)?;
    room.measured(since, found);
    if found <= limit {
        return Ok(());
    }
    let more = ByteSize(limit.saturating_mul(2));
    let remedy = grant_command(authority.plugin(), &format!("scratch = {{ size = \"{more}\" }}"));
    tracing::warn!(plugin = %authority.plugin(), "{} holds more than {}", folder.display(), ByteSize(limit));
    Err(CallError::ScratchExceeded { limit, remedy })
}

/// What everything below a directory takes. Stops as soon as that is more than `limit`. Links are counted, not followed.
fn size(folder: &Path, limit: u64) -> u64 {
    let mut whole: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be read is not the guest's doing, and will fail in the call.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            // Holes too: to fill them later makes no file longer.
            let size = metadata.len().max(metadata.blocks().saturating_mul(512));
            whole = whole.saturating_add(ENTRY.max(size));
            if whole > limit {
                return whole;
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Machine, PluginId, Side};
    use std::os::unix::fs::symlink;

    fn authority(state: Option<&Path>) -> Authority {
        let plugin = PluginId { side: Side::Agent, name: "p".into() };
        let both = |text| toml::from_str(text).unwrap();
        let machine = Machine { state: state.map(Path::to_owned), ..Machine::default() };
        let grants = toml::from_str("scratch = { size = \"64 KiB\" }").unwrap();
        Authority::new(plugin, &both("scratch = true"), &grants).on(&machine)
    }

    #[tokio::test]
    async fn a_full_directory_admits_nobody() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        let room = prepare(&authority).unwrap();
        let admit = || admit(&authority, room.as_ref());
        let folder = state.path().join("scratch/agent.p");
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        admit().await.unwrap();
        fs::create_dir(folder.join("below")).unwrap();
        symlink("/usr", folder.join("link")).unwrap();
        admit().await.unwrap();
        fs::File::create(folder.join("holes")).unwrap().set_len(1 << 30).unwrap();
        assert!(admit().await.is_err(), "holes can be filled");
        fs::remove_file(folder.join("holes")).unwrap();
        admit().await.unwrap();
        fs::write(folder.join("below/large"), vec![1; 64 << 10]).unwrap();
        let said = admit().await.unwrap_err().to_string();
        assert!(said.contains("portcullis grant agent.p 'scratch = { size = \"128.0 KiB\" }'"), "{said}");
        fs::remove_dir_all(folder.join("below")).unwrap();
        for number in 0..20 {
            fs::write(folder.join(number.to_string()), "").unwrap();
        }
        assert!(admit().await.is_err(), "empty files take room too");
    }

    #[test]
    fn the_directory_is_nobody_elses() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        fs::create_dir(state.path().join("scratch")).unwrap();
        symlink(state.path(), state.path().join("scratch/agent.p")).unwrap();
        assert!(prepare(&authority).unwrap_err().to_string().contains("it is a link"));
        assert!(matches!(prepare(&super::tests::authority(None)), Err(ScratchError::NoState)));
    }
}
