//! A plugin's folder: its language, its name, what it requests, each read from the project file that is usual in the language.

use anyhow::{Context, bail, ensure};
use plugins::package::{Manifest, with_manifest};
use policy::Requests;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder for the SDK and for intermediate files, in the plugin's folder.
pub(crate) const WORK: &str = ".portcullis";

/// A language that a plugin can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    Rust,
    Python,
    Javascript,
    Typescript,
    C,
    Go,
}

impl Language {
    /// The folder of its SDK.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Javascript | Self::Typescript => "javascript",
            Self::C => "c",
            Self::Go => "go",
        }
    }

    pub fn template(self) -> &'static str {
        match self {
            Self::Typescript => "typescript",
            other => other.sdk(),
        }
    }
}

/// What is known of a plugin before it is built.
pub(crate) struct Project {
    /// Absolute.
    pub(crate) folder: PathBuf,
    pub(crate) language: Language,
    pub(crate) name: String,
    /// The file or module with which it begins; empty in Rust.
    pub(crate) main: String,
    /// Packages of an index, as pyproject.toml names them; empty in other languages, whose tools install what is needed.
    pub(crate) dependencies: Vec<String>,
    /// None in Rust, whose SDK puts it into the component.
    manifest: Option<Manifest>,
}

impl Project {
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("cannot open {}", folder.display()))?;
        if folder.join("Cargo.toml").is_file() {
            let (language, name, main) = (Language::Rust, String::new(), String::new());
            return Ok(Self::plain(folder, language, name, main, None));
        }
        if folder.join("pyproject.toml").is_file() {
            return Self::python(folder);
        }
        if folder.join("package.json").is_file() {
            return Self::javascript(folder);
        }
        if folder.join("manifest.json").is_file() {
            return Self::with_manifest(folder);
        }
        bail!(
            "{} is not a plugin's folder: it has no Cargo.toml, pyproject.toml, package.json or manifest.json. To begin one: portcullis new NAME",
            folder.display()
        );
    }

    fn python(folder: PathBuf) -> anyhow::Result<Self> {
        let path = folder.join("pyproject.toml");
        let read = |path: &Path| -> anyhow::Result<Value> { Ok(toml::from_str(&fs::read_to_string(path)?)?) };
        let said = read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let (project, ours) = (&said["project"], &said["tool"]["portcullis"]);
        ensure!(project.is_object(), "{} has no [project] with name and version", path.display());
        let dependencies = project.get("dependencies").map_or(Ok(Vec::new()), Vec::deserialize);
        let dependencies = dependencies.with_context(|| {
            format!("{}: dependencies is not a list of strings, such as \"pypdf>=6\"", path.display())
        })?;
        let main = ours["main"].as_str().map(ToOwned::to_owned);
        let module = |name: &str| name.replace('-', "_");
        let project = Self::described(folder, Language::Python, project, ours, main, module, &path)?;
        Ok(Self { dependencies, ..project })
    }

    fn javascript(folder: PathBuf) -> anyhow::Result<Self> {
        let path = folder.join("package.json");
        let read = |path: &Path| -> anyhow::Result<Value> { Ok(serde_json::from_str(&fs::read_to_string(path)?)?) };
        let said = read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let main = said["main"].as_str().map(ToOwned::to_owned);
        let language = match main.as_deref().is_some_and(|main| main.ends_with(".ts")) {
            true => Language::Typescript,
            false => Language::Javascript,
        };
        let project =
            Self::described(folder, language, &said, &said["portcullis"], main, |_| "plugin.js".into(), &path)?;
        let main = project.folder.join(&project.main);
        ensure!(main.is_file(), "{}: \"main\" names {}, which is not there", path.display(), main.display());
        Ok(project)
    }

    /// Opens a plugin in C, or in Go if there is a go.mod: neither has a file of its own for a name and a version.
    fn with_manifest(folder: PathBuf) -> anyhow::Result<Self> {
        let path = folder.join("manifest.json");
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let read = Manifest::parse(&bytes).map_err(anyhow::Error::msg);
        let manifest = read.with_context(|| format!("{} is not a manifest", path.display()))?;
        let language = if folder.join("go.mod").is_file() { Language::Go } else { Language::C };
        let name = manifest.name.to_string();
        Ok(Self::plain(folder, language, name, String::new(), Some(manifest)))
    }

    fn plain(folder: PathBuf, language: Language, name: String, main: String, manifest: Option<Manifest>) -> Self {
        Self { folder, language, name, main, dependencies: Vec::new(), manifest }
    }

    /// `said` has name, version and description, `ours` the requests.
    fn described(
        folder: PathBuf,
        language: Language,
        said: &Value,
        ours: &Value,
        main: Option<String>,
        default_main: impl Fn(&str) -> String,
        path: &Path,
    ) -> anyhow::Result<Self> {
        let text = |key: &str| said[key].as_str().map(ToOwned::to_owned);
        let missing = |key: &str| format!("{} has no {key}", path.display());
        let (name, version) =
            (text("name").with_context(|| missing("name"))?, text("version").with_context(|| missing("version"))?);
        let mut manifest = Map::from_iter([("name".to_owned(), json!(name)), ("version".to_owned(), json!(version))]);
        manifest.extend(text("description").map(|description| ("description".to_owned(), description.into())));
        if let Some(known) = ours.as_object() {
            let unknown = known.keys().find(|key| !["main", "requests", "survive"].contains(&key.as_str()));
            ensure!(
                unknown.is_none(),
                "{}: the part for portcullis has \"{}\"; known are main, requests and survive",
                path.display(),
                unknown.map_or("", String::as_str)
            );
            let passed_on = ["requests", "survive"].into_iter();
            manifest.extend(passed_on.filter_map(|key| Some((key.to_owned(), known.get(key)?.clone()))));
        }
        let read = Manifest::parse(Value::from(manifest).to_string().as_bytes()).map_err(anyhow::Error::msg);
        let manifest = Some(read.with_context(|| format!("{}: what it requests is not valid", path.display()))?);
        let main = main.unwrap_or_else(|| default_main(&name));
        Ok(Self { folder, language, name, main, dependencies: Vec::new(), manifest })
    }

    fn requests(&self) -> Option<&Requests> {
        self.manifest.as_ref().map(|manifest| &manifest.requests)
    }

    /// Whether it requests to send HTTP requests. In Python and JavaScript, it imports the interfaces for them only then.
    pub(crate) fn wants_http(&self) -> bool {
        self.requests().is_some_and(|requests| !requests.http.is_empty())
    }

    pub(crate) fn wants_files(&self) -> bool {
        self.requests().is_some_and(|requests| requests.filesystem.is_some() || requests.scratch)
    }

    pub(crate) fn wants_variables(&self) -> bool {
        self.requests().is_some_and(|requests| !requests.env.is_empty())
    }

    /// Whether a function of WASI can never be called, because it needs a handle that the plugin cannot get: of a socket, which
    /// the host never makes, or of a file or folder, which it opens only for plugins that request them.
    pub(crate) fn is_out_of_reach(&self, interface: &str, function: &str) -> bool {
        let is_of_files = || function.contains("descriptor") || function.contains("directory-entry-stream");
        match interface.split('@').next() {
            Some("wasi:sockets/tcp" | "wasi:sockets/udp") => true,
            Some("wasi:filesystem/types") => !self.wants_files() && is_of_files(),
            _ => false,
        }
    }

    /// Its name before it is built. In Rust, that of the package, which the SDK uses unless the author gives another.
    pub(crate) fn planned_name(&self) -> anyhow::Result<String> {
        if self.language != Language::Rust {
            return Ok(self.name.clone());
        }
        let path = self.folder.join("Cargo.toml");
        let read = |path: &Path| -> anyhow::Result<Value> { Ok(toml::from_str(&fs::read_to_string(path)?)?) };
        let said = read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = said["package"]["name"].as_str();
        Ok(name.with_context(|| format!("{} has no [package] with a name", path.display()))?.to_owned())
    }

    /// The folder for intermediate files.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.join(WORK)
    }

    /// The component with the plugin's manifest.
    pub(crate) fn stamp(&self, component: &[u8]) -> anyhow::Result<Vec<u8>> {
        let Some(manifest) = &self.manifest else { return Ok(component.to_vec()) };
        with_manifest(component, manifest).context("what was built is not a component")
    }
}
