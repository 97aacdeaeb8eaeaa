//! References: how an operator names a plugin that is somewhere else. Pure text, read strictly.

use platform::telemetry::printable;
use policy::Digest;
use std::path::{Path, PathBuf};
use url::{Host, Url};

/// The longest reference. Bounds what is shown, logged and written into the lock file.
const LONGEST: usize = 2_048;
/// The longest repository, as registries bound it.
const LONGEST_REPOSITORY: usize = 255;
/// The longest tag, as registries bound it.
const LONGEST_TAG: usize = 128;

/// Where a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A file of this machine.
    File(PathBuf),
    /// A file of a web server: https, or plain http to this machine itself.
    Web {
        /// Without the digest.
        url: Url,
        /// What it must be, if that was said.
        digest: Option<Digest>,
    },
    /// An artefact of a registry.
    Oci(OciName),
}

/// The name of an artefact in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciName {
    /// Host, and port if it is not the usual one, such as `registry.example.com`.
    pub registry: String,
    /// Such as `acme/files`.
    pub repository: String,
    /// Such as `1.2.0`; it may mean something else tomorrow.
    pub tag: Option<String>,
    /// Of the manifest: it always means the same.
    pub digest: Option<Digest>,
}

/// Why a text is no reference.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a reference: {reason}")]
pub struct ReferenceError {
    text: String,
    reason: String,
}

/// What to write instead.
const FORMS: &str = "write a path such as ./files.wasm, an address such as https://example.com/files.wasm#sha256:<digest>, or oci://registry.example.com/acme/files:1.0.0";

impl Reference {
    /// Reads a reference: `file:PATH` or a path, `https://…wasm[#sha256:…]`, `oci://registry[:port]/repo[:tag][@sha256:…]`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let fail = |reason: String| ReferenceError {
            text: printable(&text.chars().take(200).collect::<String>()).into_owned(),
            reason,
        };
        if text.is_empty() || text.len() > LONGEST || text.chars().any(char::is_control) {
            return Err(fail(format!("it must be 1 to {LONGEST} bytes without control characters")));
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            return OciName::parse(rest).map(Self::Oci).map_err(fail);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return web(text).map_err(fail);
        }
        if let Some(path) = text.strip_prefix("file:") {
            return file(path).map_err(fail);
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(fail(format!("nothing is fetched by `{scheme}`; {FORMS}"))),
            None if text.contains('/') || is_component(Path::new(text)) => file(text).map_err(fail),
            None => Err(fail(FORMS.to_owned())),
        }
    }

    /// What `[sources]` knows it by: a path, or host and path without tag and digest.
    pub fn place(&self) -> String {
        match self {
            Self::File(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
            Self::Web { url, .. } => format!("{}{}", authority(url), url.path()),
            Self::Oci(name) => format!("{}/{}", name.registry, name.repository),
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Web { url, digest: None } => write!(f, "{url}"),
            Self::Web { url, digest: Some(digest) } => write!(f, "{url}#{digest}"),
            Self::Oci(name) => name.fmt(f),
        }
    }
}

impl OciName {
    /// The same artefact by the digest of its manifest, which cannot come to mean another.
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { tag: None, digest: Some(digest), ..self.clone() }
    }

    /// What stands behind the scheme.
    fn parse(text: &str) -> Result<Self, String> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(Digest::parse(digest).map_err(|error| error.to_string())?)),
            None => (text, None),
        };
        let (registry, path) =
            name.split_once('/').ok_or("after the registry comes the repository: oci://registry/repository:tag")?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        check_registry(registry)?;
        if repository.len() > LONGEST_REPOSITORY || !repository.split('/').all(is_segment) {
            return Err(format!(
                "the repository is 1 to {LONGEST_REPOSITORY} of a-z 0-9 . _ - in parts separated by /, each beginning and ending with a letter or digit"
            ));
        }
        if !tag.is_none_or(is_tag) {
            return Err(format!("the tag is 1 to {LONGEST_TAG} of A-Z a-z 0-9 . _ -, not beginning with . or -"));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl std::fmt::Display for OciName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// Host and, where it is not the scheme's own, port.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether this names the very machine, by a name that no resolver can change.
pub(super) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn file(path: &str) -> Result<Reference, String> {
    match path.strip_prefix("//") {
        Some(rest) if !rest.starts_with('/') => {
            Err("a file of another machine cannot be read: write file:PATH, or file:///PATH".into())
        }
        // One slash is as good as many, and it is written so.
        Some(rest) => Ok(Reference::File(PathBuf::from(format!("/{}", rest.trim_start_matches('/'))))),
        None if path.is_empty() => Err("after `file:` comes a path".into()),
        None => Ok(Reference::File(PathBuf::from(path))),
    }
}

fn web(text: &str) -> Result<Reference, String> {
    let mut url = Url::parse(text).map_err(|error| format!("{error}; {FORMS}"))?;
    let digest = match url.fragment() {
        Some(digest) => Some(Digest::parse(digest).map_err(|error| error.to_string())?),
        None => None,
    };
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(
            "user, password and query would be written into the lock file; credentials belong into [sources]".into()
        );
    }
    if url.scheme() != "https" && !url.host().is_some_and(|host| is_loopback(&host)) {
        return Err("plain http is for this machine itself only; write https://".into());
    }
    if !is_component(Path::new(url.path())) {
        return Err("the address of a component ends in .wasm".into());
    }
    Ok(Reference::Web { url, digest })
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "wasm") && path.file_stem().is_some()
}

/// A host in its only spelling: what is checked, configured and connected to is the same text.
fn check_registry(registry: &str) -> Result<(), String> {
    let wrong =
        || format!("`{}` is no registry: write its host in lower case, and a port if it has one", printable(registry));
    let url = Url::parse(&format!("https://{registry}/")).map_err(|_| wrong())?;
    let plain = url.host().is_some() && url.username().is_empty() && url.password().is_none();
    let known = match url.host() {
        // A bare word would be looked up in the search domains of whoever runs the network.
        Some(Host::Domain(name)) => name == "localhost" || name.contains('.'),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    let port = registry.strip_suffix(":443").unwrap_or(registry);
    if plain && known && authority(&url) == port && !registry.ends_with('.') { Ok(()) } else { Err(wrong()) }
}

/// Letters and digits, with single `.`, one or two `_` or any number of `-` between them.
fn is_segment(segment: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let framed = segment.starts_with(word) && segment.ends_with(word);
    let mut between = segment.split(word).filter(|part| !part.is_empty());
    framed && between.all(|part| matches!(part, "." | "_" | "__") || part.bytes().all(|c| c == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=LONGEST_TAG).contains(&tag.len()) && tag.chars().all(inner) && !tag.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests;
