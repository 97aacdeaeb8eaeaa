//! The folder of what outlives the process. Each configuration has its own by default, so that plugins of equal names in two
//! configurations share nothing.
//!
//! Below the user's state folder it is `configurations/<folder>-<digest>`, by the path of the configuration file. Earlier versions
//! kept the data of all configurations in the user's state folder itself: what is there goes on belonging to the configuration that
//! uses it first.

use super::environment::{default_state_base, state_variable};
use platform::files::{create_private_folder, replace_file};
use platform::telemetry::printable;
use policy::Digest;
use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Has a folder for each configuration.
const CONFIGURATIONS: &str = "configurations";
/// In a state folder: the path of the configuration that it belongs to.
const BELONGS_TO: &str = "configuration";
/// What earlier versions have left in the user's state folder, any of it.
const EARLIER: [&str; 5] = ["durable.db", "values.db", "portcullis.db", "components", "audit"];

/// A state folder that nobody has named.
#[derive(Debug, Clone)]
pub struct DefaultStateFolder {
    base: PathBuf,
    path: PathBuf,
    /// The configuration file.
    configuration: Option<PathBuf>,
}

/// A state folder with the configuration that it belongs to.
#[derive(Debug)]
pub struct KnownStateFolder {
    pub path: PathBuf,
    pub configuration: PathBuf,
}

/// The folder that `server.state` or `PORTCULLIS_STATE` names, or the configuration's own. None if this user has no place for it.
pub(super) fn find(
    configured: Option<PathBuf>,
    configuration: Option<&Path>,
) -> (Option<PathBuf>, Option<DefaultStateFolder>) {
    if let Some(named) = configured.or_else(state_variable) {
        return (Some(named), None);
    }
    let default = default_state_base().map(|base| DefaultStateFolder::new(base, configuration));
    (default.as_ref().map(|default| default.path.clone()), default)
}

impl DefaultStateFolder {
    /// Without a configuration it is the user's, where the agent keeps its memory.
    fn new(base: PathBuf, configuration: Option<&Path>) -> Self {
        let Some(file) = configuration else { return Self { path: base.clone(), base, configuration: None } };
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let own = base.join(CONFIGURATIONS).join(folder_name(&file));
        let path = if !own.exists() && is_of(&base, &file) { base.clone() } else { own };
        Self { base, path, configuration: Some(file) }
    }

    /// Creates the folder, notes whose it is, and says what its user should know of it the first time. For whoever is about to keep
    /// something there.
    pub fn prepare(&self) {
        let Some(configuration) = self.configuration.as_deref() else { return };
        let is_new = !self.path.exists();
        // Errors are reported when something in it is opened.
        let prepared = create_private_folder(&self.path).and_then(|()| {
            let mut note =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path.join(BELONGS_TO))?;
            note.write_all(configuration.as_os_str().as_bytes())
        });
        if prepared.is_ok() && is_new {
            self.announce();
        }
    }

    /// Says whose data is kept elsewhere that may be meant to be here.
    fn announce(&self) {
        let own = self.path.display();
        if let Some(other) = belongs_to(&self.base).filter(|_| has_earlier_data(&self.base)) {
            tracing::warn!(
                "this configuration begins without data, in {own}. Earlier versions kept the data of all configurations in {}, which {} uses now; to use it here, too, set `state` under [server] to it",
                self.base.display(),
                printable(&other.display().to_string())
            );
        }
        for gone in self.others().into_iter().filter(|other| !other.configuration.exists()) {
            let file = gone.configuration.display().to_string();
            let (file, place) = (printable(&file), gone.path.display());
            tracing::info!(
                "{file} is gone, and its data is kept in {place}; if this is the same configuration: portcullis storage adopt {file}"
            );
        }
    }

    /// The folders of this user's other configurations, in order.
    pub fn others(&self) -> Vec<KnownStateFolder> {
        let folders = fs::read_dir(self.base.join(CONFIGURATIONS)).into_iter().flatten().flatten();
        let mut paths: Vec<_> = folders.map(|entry| entry.path()).chain([self.base.clone()]).collect();
        paths.sort();
        paths.retain(|path| *path != self.path);
        let known = |path: PathBuf| Some(KnownStateFolder { configuration: belongs_to(&path)?, path });
        paths.into_iter().filter_map(known).collect()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder of another configuration this one's. Returns where what this one had is kept now, if it had something.
    pub fn adopt(&self, other: &KnownStateFolder) -> io::Result<Option<PathBuf>> {
        let Some(configuration) = self.configuration.as_deref() else {
            return Err(io::Error::other("there is no configuration file that it could belong to"));
        };
        if self.path == self.base || other.path == self.base {
            return Err(io::Error::other(format!(
                "it is in {} itself, where earlier versions kept everything, and cannot be moved: set `state` under [server] to that folder",
                self.base.display()
            )));
        }
        let aside = self.path.exists().then(|| aside(&self.path));
        if let Some(aside) = &aside {
            fs::rename(&self.path, aside)?;
        }
        fs::rename(&other.path, &self.path)?;
        let (note, path) = (self.path.join(BELONGS_TO), configuration.as_os_str().as_bytes());
        replace_file(&note, path, Permissions::from_mode(0o600))?;
        Ok(aside)
    }
}

/// The first free name beside a folder for what it had.
fn aside(folder: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!(".replaced-{number}"));
        PathBuf::from(name)
    };
    (1..).map(numbered).find(|path| !path.exists()).unwrap_or_default()
}

/// Whether what earlier versions kept for all configurations is this one's.
fn is_of(base: &Path, configuration: &Path) -> bool {
    has_earlier_data(base) && belongs_to(base).is_none_or(|owner| owner == configuration)
}

fn has_earlier_data(base: &Path) -> bool {
    EARLIER.iter().any(|name| base.join(name).exists())
}

fn belongs_to(folder: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(fs::read(folder.join(BELONGS_TO)).ok()?));
    path.is_absolute().then_some(path)
}

/// For people the name of the folder that the configuration is in, and a digest that is different for every path.
fn folder_name(configuration: &Path) -> String {
    let folder = configuration.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let shown: String =
        folder.chars().filter(|char| char.is_ascii_alphanumeric() || "-_".contains(*char)).take(32).collect();
    let digest = Digest::sha256(configuration.as_os_str().as_encoded_bytes());
    format!("{shown}-{}", &digest.hex()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct User(tempfile::TempDir);

    impl User {
        fn configuration(&self, name: &str) -> PathBuf {
            let file = self.0.path().canonicalize().unwrap().join(name).join("portcullis.toml");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            file
        }

        fn base(&self) -> PathBuf {
            self.0.path().join("base")
        }

        fn folder(&self, configuration: &Path) -> DefaultStateFolder {
            DefaultStateFolder::new(self.base(), Some(configuration))
        }
    }

    #[test]
    fn each_configuration_has_a_folder_of_its_own() {
        let user = User(tempfile::tempdir().unwrap());
        let (one, other) = (user.configuration("one"), user.configuration("other"));
        let (first, second) = (user.folder(&one), user.folder(&other));
        assert_ne!(first.path, second.path);
        assert!(first.path.starts_with(user.base().join("configurations")) && !first.path.exists());
        first.prepare();
        second.prepare();
        assert_eq!(user.folder(&one).path, first.path, "also by another path to the same file");
        assert_eq!(user.folder(&user.0.path().join("other/../one/portcullis.toml")).path, first.path);
        let others = first.others();
        assert_eq!((others.len(), &others[0].configuration), (1, &other));
        // A configuration that was moved takes its data along, and loses nothing of what it has kept meanwhile.
        fs::write(second.path.join("values.db"), "other").unwrap();
        fs::write(first.path.join("values.db"), "one").unwrap();
        let aside = first.adopt(&first.others().remove(0)).unwrap().unwrap();
        assert_eq!(fs::read_to_string(aside.join("values.db")).unwrap(), "one");
        assert_eq!(fs::read_to_string(first.path.join("values.db")).unwrap(), "other");
        assert_eq!(belongs_to(&first.path), Some(one));
        let nobody = DefaultStateFolder::new(user.base(), None);
        assert_eq!(nobody.path, user.base());
    }

    #[test]
    fn what_earlier_versions_kept_stays_with_the_first_that_uses_it() {
        let user = User(tempfile::tempdir().unwrap());
        let (one, other) = (user.configuration("one"), user.configuration("other"));
        user.folder(&other).prepare();
        fs::create_dir(user.base().join("audit")).unwrap();
        assert_ne!(user.folder(&other).path, user.base(), "it has its own already");
        let first = user.folder(&one);
        assert_eq!(first.path, user.base(), "whoever only reads takes nothing");
        assert_eq!(user.folder(&user.configuration("third")).path, user.base());
        first.prepare();
        assert_eq!(user.folder(&one).path, user.base());
        let third = user.folder(&user.configuration("third"));
        assert_ne!(third.path, user.base());
        assert!(third.others().iter().any(|it| it.path == user.base() && it.configuration == one));
    }
}
