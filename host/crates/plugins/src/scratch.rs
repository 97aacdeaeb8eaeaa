//! A plugin's scratch directory: created when the plugin is loaded, and measured before each of its calls.
//!
//! A guest wrote what is in it, so nothing in it is opened here, only measured. While a call writes, [`DiskQuota`] counts
//! what it adds; measuring finds what other processes wrote.

use bytesize::ByteSize;
use policy::{Authority, grant_command};
use runtime::engine::CallError;
use runtime::imports::{DiskQuota, ENTRY_SIZE};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    #[error("grants.scratch needs a folder of its own: set PORTCULLIS_STATE or server.state")]
    NoState,
    #[error(
        "the scratch directory {path} cannot be used: {problem}; move it away, or set PORTCULLIS_STATE or server.state to a folder of your own"
    )]
    Folder { path: PathBuf, problem: String },
}

/// Creates the directory, accessible to this user only, and its quota.
pub(super) fn prepare(authority: &Authority) -> Result<Option<Arc<DiskQuota>>, ScratchError> {
    let Some((folder, limit)) = authority.scratch_folder() else {
        return authority.scratch().map_or(Ok(None), |_| Err(ScratchError::NoState));
    };
    let unusable = |error: std::io::Error| ScratchError::Folder { path: folder.to_owned(), problem: error.to_string() };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    // Not through a link: somebody who can place one here would choose the directory that the guest writes to.
    let found = fs::symlink_metadata(folder).map_err(unusable)?;
    if !found.is_dir() {
        return Err(unusable(std::io::Error::other("it is a link")));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
    }
    Ok(Some(Arc::new(DiskQuota::new(limit))))
}

/// Measures the directory for its quota, and refuses the call when it holds more than was granted.
pub(super) async fn check_size(authority: &Authority, quota: Option<&Arc<DiskQuota>>) -> Result<(), CallError> {
    let (Some((folder, _)), Some(quota)) = (authority.scratch_folder(), quota) else { return Ok(()) };
    let (path, limit, started) = (folder.to_owned(), quota.limit(), quota.start_measuring());
    let found = tokio::task::spawn_blocking(move || directory_size(&path, limit)).await.map_err(CallError::internal)?;
    quota.set_measured(started, found);
    if found <= limit {
        return Ok(());
    }
    let more = ByteSize(limit.saturating_mul(2));
    let remedy = grant_command(authority.plugin(), &format!("scratch = {{ size = \"{more}\" }}"));
    tracing::warn!(plugin = %authority.plugin(), "{} holds more than {}", folder.display(), ByteSize(limit));
    Err(CallError::ScratchExceeded { limit, remedy })
}

/// The size of everything below a directory. Stops as soon as it exceeds `limit`. Links are counted, not followed.
fn directory_size(folder: &Path, limit: u64) -> u64 {
    let mut total: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // An unreadable directory is not the guest's fault, and will fail in the call.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            // The length counts the holes of a file too: filling them later does not make it longer.
            let size = metadata.len().max(metadata.blocks().saturating_mul(512));
            total = total.saturating_add(ENTRY_SIZE.max(size));
            if total > limit {
                return total;
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{HostEnvironment, PluginId, Side};
    use std::os::unix::fs::symlink;

    fn authority(state: Option<&Path>) -> Authority {
        let plugin = PluginId { side: Side::Agent, name: "p".into() };
        let parse = |text| toml::from_str(text).unwrap();
        let environment = HostEnvironment { state: state.map(Path::to_owned), ..HostEnvironment::default() };
        let grants = toml::from_str("scratch = { size = \"64 KiB\" }").unwrap();
        Authority::new(plugin, &parse("scratch = true"), &grants).with_environment(&environment)
    }

    #[tokio::test]
    async fn a_call_with_a_full_directory_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        let quota = prepare(&authority).unwrap();
        let check = || check_size(&authority, quota.as_ref());
        let folder = state.path().join("scratch/agent.p");
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        check().await.unwrap();
        fs::create_dir(folder.join("below")).unwrap();
        symlink("/usr", folder.join("link")).unwrap();
        check().await.unwrap();
        fs::File::create(folder.join("holes")).unwrap().set_len(1 << 30).unwrap();
        assert!(check().await.is_err(), "holes can be filled");
        fs::remove_file(folder.join("holes")).unwrap();
        check().await.unwrap();
        fs::write(folder.join("below/large"), vec![1; 64 << 10]).unwrap();
        let error = check().await.unwrap_err().to_string();
        assert!(error.contains("portcullis grant agent.p 'scratch = { size = \"128.0 KiB\" }'"), "{error}");
        fs::remove_dir_all(folder.join("below")).unwrap();
        for number in 0..20 {
            fs::write(folder.join(number.to_string()), "").unwrap();
        }
        assert!(check().await.is_err(), "empty files count too");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        fs::create_dir(state.path().join("scratch")).unwrap();
        symlink(state.path(), state.path().join("scratch/agent.p")).unwrap();
        assert!(prepare(&authority).unwrap_err().to_string().contains("it is a link"));
        assert!(matches!(prepare(&super::tests::authority(None)), Err(ScratchError::NoState)));
    }
}
