//! Derives from the configuration which files and ports a server needs.

use crate::config::{self, Config};
use platform::confine::ConfineSettings;
use platform::files::create_private_folder;
use platform::secrets::SecretSource;
use policy::Access;
use std::path::{Path, PathBuf};

/// What a server with this configuration needs, and with `builds` also what building a plugin needs. Creates the host's own
/// folders, since a confined server cannot.
pub(super) fn confinement_needs(config: &Config, file: &Path, builds: bool) -> ConfineSettings {
    let own: Vec<PathBuf> = config.state.iter().chain([&config.cache]).cloned().collect();
    for folder in &own {
        // Errors are reported when the folder is opened.
        let _ = create_private_folder(folder);
    }
    let specs = || config.plugins.iter().chain(&config.agent);
    let mut needs = ConfineSettings { write: own, programs: builds, ..ConfineSettings::default() };
    // Grants the folder of each file, since a file may be replaced by a new one of the same name.
    let named = [Some(file), config.auth.keys.as_deref(), config.stand_in_tools.as_deref()].into_iter().flatten();
    let named = named.chain(config.model.iter().filter_map(|model| model.key_file.as_deref()));
    let named = named.chain(config.upstreams.iter().filter_map(|upstream| upstream.key_file.as_deref()));
    let named = named.chain(config.connections.values().filter_map(|account| account.client_secret_file.as_deref()));
    let login = config.auth.oauth.as_ref().and_then(|oauth| oauth.login.as_ref());
    let named = named.chain(login.and_then(|login| login.client_secret_file.as_deref()));
    let named = named.chain(specs().map(|spec| spec.source.as_path()));
    let named = named.chain(config.withdrawn_file.as_deref());
    let named = named.chain(config.secrets.values().filter_map(|secret| match secret {
        SecretSource::File(file) => Some(file.as_path()),
        SecretSource::Env(_) | SecretSource::Keyring(..) => None,
    }));
    needs.read.extend(named.flat_map(folders));
    needs.read.extend(config::certificates());
    for mount in specs().flat_map(|spec| &spec.grants.filesystem) {
        match mount.access {
            Access::Read => needs.read.push(mount.host.clone()),
            Access::Write => needs.write.push(mount.host.clone()),
        }
    }
    needs.write.extend(config.audit.folder.clone());
    needs.keyring = config.secrets.values().any(|secret| matches!(secret, SecretSource::Keyring(..)));
    needs.listen.extend([config.http, config.metrics].into_iter().flatten().map(|address| address.port()));
    if config.http.is_none() && !config.connections.is_empty() {
        // Pages for the user's browser are served on a free port.
        needs.listen.push(0);
    }
    needs
}

/// The folder of a file, and the folder of its target if it is a link.
fn folders(file: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = |path: PathBuf| path.parent().map(Path::to_owned);
    let named = std::path::absolute(file).ok().and_then(folder);
    named.into_iter().chain(std::fs::canonicalize(file).ok().and_then(folder))
}
