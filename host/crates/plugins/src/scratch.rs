//! A plugin's scratch directory: created when the plugin is loaded, and measured before each of its calls.
//!
//! A guest wrote what is in it, so nothing in it is read here, only measured. While a call writes, [`DiskQuota`] counts
//! what it adds; measuring finds what other processes wrote.

use bytesize::ByteSize;
use futures::FutureExt as _;
use platform::folder::Folder;
use policy::{Authority, Principal, grant_command};
use runtime::engine::{CallError, run_in_pool};
use runtime::imports::{DiskQuota, ENTRY_SIZE};
use std::io;
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

fn unusable(path: &Path) -> impl Fn(io::Error) -> ScratchError {
    |error| ScratchError::Folder { path: path.to_owned(), problem: error.to_string() }
}

/// Creates the directory, accessible to this user only, and its quota.
pub(super) fn prepare(authority: &Authority) -> Result<Option<Arc<DiskQuota>>, ScratchError> {
    let Some((path, limit)) = authority.scratch_folder() else {
        return authority.scratch().map_or(Ok(None), |_| Err(ScratchError::NoState));
    };
    let folder = Folder::create_own(path).map_err(unusable(path))?;
    if folder.mode().map_err(unusable(path))? & 0o077 != 0 {
        folder.set_mode(0o700).map_err(unusable(path))?;
    }
    Ok(Some(Arc::new(DiskQuota::unmeasured(limit))))
}

/// Measures the directory for its quota, and refuses the call when it holds more than was granted or cannot be measured. A
/// guest decides how much work that is, so it is done in the pool where guests compute, and counts as work of the principal.
pub(super) async fn check_size(
    authority: &Authority,
    quota: Option<&Arc<DiskQuota>>,
    principal: &Principal,
) -> Result<(), CallError> {
    let (Some((folder, _)), Some(quota)) = (authority.scratch_folder(), quota) else { return Ok(()) };
    let (path, limit, started) = (folder.to_owned(), quota.limit(), quota.start_measuring());
    let measure = async move { Folder::open_own(&path).and_then(|folder| folder.size(limit, ENTRY_SIZE)) };
    let found = run_in_pool((principal.clone(), authority.plugin().clone()), measure.boxed()).await;
    let found = found.map_err(|error| CallError::internal(unusable(folder)(error)))?;
    // If something was moved meanwhile, the quota's own count stays, which is an upper bound.
    let Some(found) = found.filter(|found| quota.set_measured(started, *found)) else { return Ok(()) };
    if found <= limit {
        return Ok(());
    }
    let more = ByteSize(limit.saturating_mul(2));
    let remedy = grant_command(authority.plugin(), &format!("scratch = {{ size = \"{more}\" }}"));
    let (plugin, limit_text) = (authority.plugin(), ByteSize(limit));
    tracing::warn!(%plugin, "{} holds too much: {limit_text} are granted; to allow more: {remedy}", folder.display());
    Err(CallError::ScratchExceeded { limit, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{DataKey, HostEnvironment, PluginId, Side};
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn authority(state: Option<&Path>) -> Authority {
        let plugin = PluginId { side: Side::Agent, name: "p".into() };
        let parse = |text| toml::from_str(text).unwrap();
        let environment = HostEnvironment { state: state.map(Path::to_owned), ..HostEnvironment::default() };
        let grants = toml::from_str("scratch = { size = \"64 KiB\" }").unwrap();
        let data = DataKey::configured(&plugin);
        Authority::new(plugin, &parse("scratch = true"), &grants).with_environment(&environment, &data)
    }

    #[tokio::test]
    async fn a_call_with_a_full_directory_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        let quota = prepare(&authority).unwrap();
        let principal = Principal::local();
        let check = || check_size(&authority, quota.as_ref(), &principal);
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
        let error = check().await.unwrap_err();
        assert!(!error.to_string().contains("grant"), "{error}");
        let error = error.for_operator();
        assert!(error.contains("portcullis grant agent.p 'scratch = { size = \"128.0 KiB\" }'"), "{error}");
        fs::remove_dir_all(folder.join("below")).unwrap();
        for number in 0..20 {
            fs::write(folder.join(number.to_string()), "").unwrap();
        }
        assert!(check().await.is_err(), "empty files count too");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        check().await.unwrap();
    }

    #[tokio::test]
    async fn a_link_in_place_of_the_directory_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let authority = authority(Some(state.path()));
        fs::create_dir(state.path().join("scratch")).unwrap();
        symlink(state.path(), state.path().join("scratch/agent.p")).unwrap();
        assert!(prepare(&authority).unwrap_err().to_string().contains("it is a link"));
        fs::remove_file(state.path().join("scratch/agent.p")).unwrap();
        let quota = prepare(&authority).unwrap();
        fs::remove_dir(state.path().join("scratch/agent.p")).unwrap();
        symlink(state.path(), state.path().join("scratch/agent.p")).unwrap();
        assert_eq!(
            check_size(&authority, quota.as_ref(), &Principal::local()).await,
            Err(CallError::Internal),
            "also once it is loaded"
        );
        assert!(matches!(prepare(&super::tests::authority(None)), Err(ScratchError::NoState)));
    }
}
