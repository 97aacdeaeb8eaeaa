//! The state folder, which holds what outlives the process. Each configuration has its own by default, so that plugins of equal
//! names in two configurations share nothing.
//!
//! Below the user's state folder it is `configurations/<folder>-<digest>`, with a digest of the configuration file's path.
//! Earlier versions kept the data of all configurations in the user's state folder itself: that data belongs to the
//! configuration that uses it first.

use super::environment::{default_state_base, state_variable};
use platform::files::{create_private_folder, replace_file};
use platform::telemetry::printable;
use policy::Digest;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Contains a folder for each configuration.
const CONFIGURATIONS: &str = "configurations";
/// In a state folder: the path of the configuration that it belongs to.
const BELONGS_TO: &str = "configuration";
/// What shows that earlier versions have kept data in the user's state folder; one of these is enough.
const EARLIER: [&str; 5] = ["durable.db", "values.db", "portcullis.db", "components", "audit"];

/// The state folder that is used if none is named.
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

/// The folder that `server.state` or `PORTCULLIS_STATE` names, or the configuration's own. None if this user has no state
/// folder.
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
    /// Without a configuration file, it is the user's own state folder, where the agent keeps its memory.
    fn new(base: PathBuf, configuration: Option<&Path>) -> Self {
        let Some(configuration) = configuration.map(identity) else {
            return Self { path: base.clone(), base, configuration: None };
        };
        let own = base.join(CONFIGURATIONS).join(folder_name(&configuration));
        let path = if !own.exists() && is_of(&base, &configuration) { base.clone() } else { own };
        Self { base, path, configuration: Some(configuration) }
    }

    /// Creates the folder, records its owner, and warns its user the first time. For callers that are about to store something
    /// there. Returns another folder if another configuration has just taken over the data of earlier versions.
    pub(super) fn take(self) -> Self {
        let Some(configuration) = self.configuration.as_deref() else { return self };
        let is_new = !self.path.exists();
        match note(&self.path, configuration) {
            Ok(false) if self.path == self.base => Self::new(self.base, self.configuration.as_deref()).take(),
            Ok(_) => {
                if is_new {
                    self.announce();
                }
                self
            }
            // Reported when something in it is opened.
            Err(_) => self,
        }
    }

    /// Where earlier versions kept everything, if that is not this folder.
    pub(super) fn earlier(&self) -> Option<&Path> {
        (self.path != self.base && has_earlier_data(&self.base)).then_some(&self.base)
    }

    /// Warns about data elsewhere that the user may expect to find here.
    fn announce(&self) {
        let own = self.path.display();
        let gone: Vec<_> = self.others().into_iter().filter(|other| !other.configuration.exists()).collect();
        if let Some(other) = belongs_to(&self.base).filter(|it| self.earlier().is_some() && it.exists()) {
            tracing::warn!(
                "this configuration begins without data, in {own}. Earlier versions kept the data of all configurations in {}, which {} uses now; to use it here, too, set `state` under [server] to it",
                self.base.display(),
                printable(&other.display().to_string())
            );
        }
        if let Some(one) = gone.first() {
            tracing::warn!(
                "this configuration begins without data, in {own}. If it was moved or renamed: portcullis storage adopt {}; `portcullis storage list` names {} of configurations that are gone",
                printable(&one.configuration.display().to_string()),
                gone.len()
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

    /// Whether the folders of all configurations are in this folder, as they are in the one that earlier versions used.
    pub fn is_below(&self, folder: &Path) -> bool {
        self.base.starts_with(folder)
    }

    /// Makes the folder of another configuration this one's. Returns the folder to which this one's previous data was moved, if
    /// any.
    pub fn adopt(&self, other: &KnownStateFolder) -> io::Result<Option<PathBuf>> {
        let Some(configuration) = self.configuration.as_deref() else {
            return Err(io::Error::other("there is no configuration file that it could belong to"));
        };
        if self.path == self.base {
            return Err(io::Error::other(format!(
                "this one has what earlier versions kept, in {}, which cannot be moved: set `state` under [server] to {}",
                self.base.display(),
                other.path.display()
            )));
        }
        let aside = self.path.exists().then(|| aside(&self.path));
        if let Some(aside) = &aside {
            fs::rename(&self.path, aside)?;
        }
        // What earlier versions kept stays where it is.
        let now = if other.path == self.base { &self.base } else { &self.path };
        if now != &other.path {
            fs::rename(&other.path, now)?;
        }
        let path = configuration.as_os_str().as_bytes();
        replace_file(&now.join(BELONGS_TO), path, Permissions::from_mode(0o600))?;
        Ok(aside)
    }
}

/// The path that identifies a configuration file. Links in the path of its folder are resolved, but not a link that is the file
/// itself, since its lock file is beside the link.
pub fn identity(file: &Path) -> PathBuf {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    // If the folder is gone, the nearest parent that exists is resolved.
    let resolved = |folder: &Path| Some(folder.canonicalize().ok()?.join(absolute.strip_prefix(folder).ok()?));
    absolute.ancestors().skip(1).find_map(resolved).unwrap_or_else(|| absolute.clone())
}

/// Creates a folder and records in it that it belongs to this configuration. False if it belongs to another one.
fn note(folder: &Path, configuration: &Path) -> io::Result<bool> {
    create_private_folder(folder)?;
    let path = configuration.as_os_str().as_bytes();
    let (note, new) = (folder.join(BELONGS_TO), folder.join(format!("{BELONGS_TO}.{}", std::process::id())));
    if !note.exists() {
        replace_file(&new, path, Permissions::from_mode(0o600))?;
        // The link makes the note appear as a whole: another configuration may read it, or make it at the same time.
        let noted = fs::hard_link(&new, &note);
        fs::remove_file(&new)?;
        match noted {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            noted => return noted.map(|()| true),
        }
    }
    Ok(fs::read(note)? == path)
}

/// The first free name beside a folder, for its previous data.
fn aside(folder: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!(".replaced-{number}"));
        PathBuf::from(name)
    };
    (1..).map(numbered).find(|path| !path.exists()).unwrap_or_default()
}

/// Whether the data that earlier versions kept belongs to this configuration.
fn is_of(base: &Path, configuration: &Path) -> bool {
    has_earlier_data(base)
        && match fs::read(base.join(BELONGS_TO)) {
            Ok(owner) => owner == configuration.as_os_str().as_bytes(),
            // A note that cannot be read may be somebody else's.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
}

fn has_earlier_data(base: &Path) -> bool {
    EARLIER.iter().any(|name| base.join(name).exists())
}

fn belongs_to(folder: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(fs::read(folder.join(BELONGS_TO)).ok()?));
    path.is_absolute().then_some(path)
}

/// The name of the folder that the configuration is in, for people, and a digest that is different for every path.
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
        drop(first.clone().take());
        drop(second.clone().take());
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
        drop(user.folder(&other).take());
        fs::create_dir(user.base().join("audit")).unwrap();
        assert_ne!(user.folder(&other).path, user.base(), "it has its own already");
        let first = user.folder(&one);
        assert_eq!(first.path, user.base(), "whoever only reads takes nothing");
        let at_the_same_time = user.folder(&user.configuration("third"));
        assert_eq!(at_the_same_time.path, user.base());
        assert_eq!(first.take().path, user.base());
        assert_eq!(user.folder(&one).take().path, user.base());
        let third = at_the_same_time.take();
        assert_ne!(third.path, user.base(), "it was about to use what is another's now");
        assert!(third.others().iter().any(|it| it.path == user.base() && it.configuration == one));
        // A moved configuration keeps the data of earlier versions, which stays where it is.
        fs::remove_file(&one).unwrap();
        let found = third.others().into_iter().find(|it| it.path == user.base()).unwrap();
        third.adopt(&found).unwrap();
        assert_eq!(user.folder(&user.configuration("third")).path, user.base());
        // The note does not name an owner.
        fs::write(user.base().join("configuration"), "").unwrap();
        assert_ne!(user.folder(&user.configuration("third")).path, user.base());
    }

    #[test]
    fn a_configuration_is_known_by_its_own_path() {
        let user = User(tempfile::tempdir().unwrap());
        let real = user.configuration("real");
        let root = user.0.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert_eq!(identity(&root.join("link/portcullis.toml")), real, "however its folder is reached");
        fs::create_dir(root.join("mounted")).unwrap();
        for version in ["1", "2"] {
            let _ = fs::remove_file(root.join("mounted/portcullis.toml"));
            std::os::unix::fs::symlink(format!("../{version}.toml"), root.join("mounted/portcullis.toml")).unwrap();
            assert_eq!(identity(&root.join("mounted/portcullis.toml")), root.join("mounted/portcullis.toml"));
        }
        assert_eq!(identity(&root.join("mounted/../gone/portcullis.toml")), root.join("gone/portcullis.toml"));
        let (state, folder) = find(Some("/named".into()), Some(&real));
        assert!(state == Some("/named".into()) && folder.is_none());
    }
}
