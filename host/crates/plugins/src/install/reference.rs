//! References to published plugins, as operators write them. Parsed strictly.

use platform::telemetry::printable;
use platform::text::truncate_chars;
use policy::Digest;
use std::path::{Path, PathBuf};
use url::{Host, Url};

/// Bounds what is shown, logged and written into the lock file.
const MAX_REFERENCE_BYTES: usize = 2_048;
/// The limit of registries.
const MAX_REPOSITORY_CHARS: usize = 255;
/// The limit of registries.
const MAX_TAG_CHARS: usize = 128;

/// Where a plugin is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    File(PathBuf),
    /// A file on a web server: https, or plain http to the loopback host.
    Web {
        /// Without fragment.
        url: Url,
        /// The expected digest of the component, if the reference is pinned.
        digest: Option<Digest>,
    },
    /// An artifact in a registry.
    Oci(OciName),
}

/// The name of an artifact in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciName {
    /// The host and optional port, such as `registry.example.com`.
    pub registry: String,
    /// Such as `acme/files`.
    pub repository: String,
    /// Such as `1.2.0`. The registry may move it to another artifact.
    pub tag: Option<String>,
    /// The digest of the manifest.
    pub digest: Option<Digest>,
}

#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a reference: {reason}")]
pub struct ReferenceError {
    text: String,
    reason: String,
}

const FORMS: &str = "write a path such as ./files.wasm, a URL such as https://example.com/files.wasm#sha256:<digest>, or oci://registry.example.com/acme/files:1.0.0";

impl Reference {
    /// Parses a reference: `file:PATH` or a path, `https://…wasm[#sha256:…]`, `oci://registry[:port]/repo[:tag][@sha256:…]`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let fail = |reason: String| ReferenceError { text: printable(truncate_chars(text, 200)).into_owned(), reason };
        if text.is_empty() || text.len() > MAX_REFERENCE_BYTES || text.chars().any(char::is_control) {
            return Err(fail(format!("it must be 1 to {MAX_REFERENCE_BYTES} bytes without control characters")));
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            return OciName::parse(rest).map(Self::Oci).map_err(fail);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return parse_web(text).map_err(fail);
        }
        if let Some(path) = text.strip_prefix("file:") {
            return parse_file(path).map_err(fail);
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(fail(format!("the scheme `{scheme}` is not supported; {FORMS}"))),
            None if text.contains('/') || is_component(Path::new(text)) => parse_file(text).map_err(fail),
            None => Err(fail(FORMS.to_owned())),
        }
    }

    /// The place of all versions: the reference without tag and digest.
    pub fn source(&self) -> String {
        match self {
            Self::File(_) => format!("file:{}", self.location()),
            Self::Web { url, .. } => url.to_string(),
            Self::Oci(_) => format!("oci://{}", self.location()),
        }
    }

    /// Whether it names one component by its digest, so that there is never a newer one.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Web { digest, .. } | Self::Oci(OciName { digest, .. }) => digest.is_some(),
        }
    }

    /// The reference of another version of the same plugin; the error is a sentence. In a web address, the text of the
    /// `installed` version is replaced.
    pub fn with_version(&self, installed: Option<&str>, version: &str) -> Result<Self, String> {
        match self {
            Self::File(path) => Err(format!("it comes from the file {}, which has one version", path.display())),
            Self::Oci(name) if is_tag(version) => {
                Ok(Self::Oci(OciName { tag: Some(version.to_owned()), digest: None, ..name.clone() }))
            }
            Self::Oci(_) => Err(format!("{version:?} is not a tag")),
            Self::Web { url, .. } => {
                let there = installed.filter(|installed| !installed.is_empty() && url.path().contains(installed));
                let there = there.ok_or_else(|| {
                    format!("its address {url} has no version to replace: remove it, and install the other address")
                })?;
                let mut other = url.clone();
                other.set_path(&url.path().replace(there, version));
                parse_web(other.as_str())
            }
        }
    }

    /// The tag, if it names one in a registry.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Oci(name) => name.tag.as_deref(),
            Self::File(_) | Self::Web { .. } => None,
        }
    }

    /// The location that `[sources]` matches: a path, or host and path without tag and digest.
    pub fn location(&self) -> String {
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
    /// The same artifact by the digest of its manifest instead of a tag.
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { tag: None, digest: Some(digest), ..self.clone() }
    }

    /// Parses the part after `oci://`.
    fn parse(text: &str) -> Result<Self, String> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(Digest::parse(digest).map_err(|error| error.to_string())?)),
            None => (text, None),
        };
        let (registry, path) =
            name.split_once('/').ok_or("the repository is missing: write oci://registry/repository:tag")?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        check_registry(registry)?;
        if repository.len() > MAX_REPOSITORY_CHARS || !repository.split('/').all(is_segment) {
            return Err(format!(
                "the repository is 1 to {MAX_REPOSITORY_CHARS} of a-z 0-9 . _ - in parts separated by /, each beginning and ending with a letter or digit"
            ));
        }
        if !tag.is_none_or(is_tag) {
            return Err(format!("the tag is 1 to {MAX_TAG_CHARS} of A-Z a-z 0-9 . _ -, not beginning with . or -"));
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

/// The host, and the port if it is not the default of the scheme.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Whether this is the loopback host, by a name that does not depend on a resolver.
pub(super) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn parse_file(path: &str) -> Result<Reference, String> {
    match path.strip_prefix("//") {
        Some(rest) if !rest.starts_with('/') => {
            Err("file URLs with a host are not supported: write file:PATH, or file:///PATH".into())
        }
        // Several leading slashes are normalised to one.
        Some(rest) => Ok(Reference::File(PathBuf::from(format!("/{}", rest.trim_start_matches('/'))))),
        None if path.is_empty() => Err("the path after `file:` is missing".into()),
        None => Ok(Reference::File(PathBuf::from(path))),
    }
}

fn parse_web(text: &str) -> Result<Reference, String> {
    let mut url = Url::parse(text).map_err(|error| format!("{error}; {FORMS}"))?;
    let digest = match url.fragment() {
        Some(digest) => Some(Digest::parse(digest).map_err(|error| error.to_string())?),
        None => None,
    };
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(
            "user, password and query would be written into the lock file; credentials belong in [sources]".into()
        );
    }
    if url.scheme() != "https" && !url.host().is_some_and(|host| is_loopback(&host)) {
        return Err("plain http is allowed for the loopback host only; write https://".into());
    }
    if !is_component(Path::new(url.path())) {
        return Err("the URL of a component must end in .wasm".into());
    }
    Ok(Reference::Web { url, digest })
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "wasm") && path.file_stem().is_some()
}

/// Accepts the canonical spelling of a host only, so that checks, configuration and connections see the same text.
fn check_registry(registry: &str) -> Result<(), String> {
    let wrong = || {
        format!("`{}` is not a registry: write its host in lower case, and a port if it has one", printable(registry))
    };
    let url = Url::parse(&format!("https://{registry}/")).map_err(|_| wrong())?;
    let plain = url.host().is_some() && url.username().is_empty() && url.password().is_none();
    let known = match url.host() {
        // A name without dots would be looked up in the search domains of the local network.
        Some(Host::Domain(name)) => name == "localhost" || name.contains('.'),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    let without_port = registry.strip_suffix(":443").unwrap_or(registry);
    if plain && known && authority(&url) == without_port && !registry.ends_with('.') { Ok(()) } else { Err(wrong()) }
}

/// Letters and digits, with single `.`, one or two `_` or any number of `-` between them.
fn is_segment(segment: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let delimited = segment.starts_with(word) && segment.ends_with(word);
    let mut between = segment.split(word).filter(|part| !part.is_empty());
    delimited && between.all(|part| matches!(part, "." | "_" | "__") || part.bytes().all(|c| c == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MAX_TAG_CHARS).contains(&tag.len()) && tag.chars().all(inner) && !tag.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests;
