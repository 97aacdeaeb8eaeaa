//! `[sources]`: what an operator says about places where plugins are published, by the beginning of their names.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// The longest wait for one answer that can be configured: whoever installs waits for it.
const LONGEST: Duration = Duration::from_secs(3600);

/// Which signatures a source's plugins need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignaturePolicy {
    /// One that a configured key or identity made; nothing is fetched without.
    Required,
    /// Where a key or an identity is configured and there are signatures, one of them must be good. Whoever can change
    /// what a source holds can also take a signature away, so this protects from mistakes rather than from thieves.
    #[default]
    Optional,
    /// None is looked for.
    Off,
}

/// Somebody to whom an issuer gives certificates. Both are compared letter by letter: there are no patterns, so that
/// nobody is trusted whom nobody had in mind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Identity {
    /// The OIDC issuer's URL.
    pub issuer: String,
    /// Such as a workflow's URL or an address.
    pub subject: String,
}

/// One table of `[sources]`.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SourceSettings {
    /// Who signs in; none: nobody does.
    pub user: Option<String>,
    /// File with the password or token.
    pub password_file: Option<PathBuf>,
    /// Variable of the host's environment with the password or token.
    pub password_env: Option<String>,
    /// What that variable held; the configuration reads it.
    #[serde(skip)]
    pub password: Option<Zeroizing<String>>,
    /// Which signatures are needed.
    pub signature: SignaturePolicy,
    /// minisign's public keys, as it prints them.
    pub keys: Vec<String>,
    /// Files with public keys of cosign's, in PEM.
    pub cosign_keys: Vec<PathBuf>,
    /// Signers by sigstore.
    pub identities: Vec<Identity>,
    /// File of sigstore's keys and certificates; none: those of the public instance that came with this program.
    pub trusted_root: Option<PathBuf>,
    /// Hosts besides the registry's own that may be told its credentials in exchange for a token.
    pub realms: Vec<String>,
    /// Whether the source is in a private network. Without, nobody there is ever connected to.
    pub private: bool,
    /// Whether layers of the media type that came before `application/wasm` are taken.
    pub legacy_media_types: bool,
    /// The longest wait for one answer.
    #[serde(with = "humantime_serde")]
    pub timeout: Option<Duration>,
}

/// A password is never shown.
impl std::fmt::Debug for SourceSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceSettings")
            .field("user", &self.user)
            .field("signature", &self.signature)
            .field("keys", &self.keys)
            .field("cosign_keys", &self.cosign_keys)
            .field("identities", &self.identities)
            .finish_non_exhaustive()
    }
}

impl SourceSettings {
    /// Whether the table makes sense; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        let passwords = usize::from(self.password_file.is_some()) + usize::from(self.password_env.is_some());
        if usize::from(self.user.is_some()) != passwords {
            return Err("user goes with password-file or password-env, with one of them".into());
        }
        if self.user.as_ref().is_some_and(|user| user.is_empty() || user.contains([':', '\n', '\r'])) {
            return Err("user must not be empty or contain `:`".into());
        }
        if self.signature == SignaturePolicy::Required && !self.names_signers() {
            return Err(
                "signature = \"required\" needs keys, cosign-keys or identities: nobody else's signature counts".into(),
            );
        }
        if self.signature == SignaturePolicy::Off && self.names_signers() {
            return Err("signature = \"off\" looks at no keys or identities; remove them, or write \"required\"".into());
        }
        if let Some(key) = self.keys.iter().find(|key| minisign_verify::PublicKey::from_base64(key).is_err()) {
            let key = platform::telemetry::printable(key);
            return Err(format!(
                "keys: `{key}` is not a public key of minisign, which is one word that begins with RW; a file with one of \
                 cosign's belongs into cosign-keys"
            ));
        }
        if self.identities.iter().any(|identity| identity.issuer.is_empty() || identity.subject.is_empty()) {
            return Err("identities: issuer and subject are compared exactly, so neither may be empty".into());
        }
        if let Some(wrong) = self.realms.iter().find(|realm| realm.is_empty() || realm.contains(['/', '*', '@', ' '])) {
            return Err(format!(
                "realms: `{wrong}` is not a host; write it without scheme and path, and a port if it has one"
            ));
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero() || timeout > LONGEST) {
            return Err(format!("timeout must be more than 0s and at most {}", humantime::format_duration(LONGEST)));
        }
        Ok(())
    }

    /// Whether somebody is named whose signature counts.
    pub fn names_signers(&self) -> bool {
        !(self.keys.is_empty() && self.cosign_keys.is_empty() && self.identities.is_empty())
    }

    /// With paths made absolute.
    pub fn resolved(mut self, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        self.password_file = self.password_file.as_deref().map(&resolve);
        self.trusted_root = self.trusted_root.as_deref().map(&resolve);
        self.cosign_keys = self.cosign_keys.iter().map(|path| resolve(path)).collect();
        self
    }
}

/// All tables of `[sources]`.
#[derive(Debug, Clone, Default)]
pub struct SourceTables(BTreeMap<String, SourceSettings>);

impl SourceTables {
    /// These, by the beginning of a place: a host, a host and folders, an absolute path, or `*` for everything.
    pub fn new(tables: BTreeMap<String, SourceSettings>) -> Self {
        Self(tables)
    }

    /// The table of the longest name that this place begins with, whole parts only; it stands alone, nothing is added
    /// from shorter ones.
    pub fn of(&self, place: &str) -> SourceSettings {
        let covers = |name: &str| {
            let name = name.trim_end_matches('/');
            place.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let named = self.0.iter().filter(|(name, _)| *name != "*" && covers(name));
        let longest = named.max_by_key(|(name, _)| name.trim_end_matches('/').len()).map(|(_, settings)| settings);
        longest.or_else(|| self.0.get("*")).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(user: &str) -> SourceSettings {
        SourceSettings { user: Some(user.into()), password_file: Some("p".into()), ..Default::default() }
    }

    #[test]
    fn the_longest_name_wins_and_stands_alone() {
        let names = [
            "*",
            "r.example.com",
            "r.example.com/acme",
            "r.example.com/acme/files/",
            "/srv/plugins",
            "r.example.com:5000",
        ];
        let tables = SourceTables::new(names.iter().map(|name| ((*name).to_owned(), table(name))).collect());
        for (place, name) in [
            ("r.example.com/acme/files", "r.example.com/acme/files/"),
            ("r.example.com/acme/notes", "r.example.com/acme"),
            ("r.example.com/acme-evil/notes", "r.example.com"),
            ("r.example.com.evil.example/acme/notes", "*"),
            ("r.example.com:5000/acme/notes", "r.example.com:5000"),
            ("r.example.com:50000/acme/notes", "*"),
            ("/srv/plugins/a.wasm", "/srv/plugins"),
            ("/srv/plugins-of-others/a.wasm", "*"),
            ("other.example/x", "*"),
        ] {
            assert_eq!(tables.of(place).user.as_deref(), Some(name), "{place}");
        }
        assert_eq!(SourceTables::default().of("x").user, None);
    }

    #[test]
    fn tables_that_promise_nothing_are_refused() {
        let key = "RWQHBwcHBwcHB+pKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs";
        for (text, words) in [
            ("user = \"a\"", "user goes with"),
            ("password-file = \"p\"", "user goes with"),
            ("user = \"a\"\npassword-file = \"p\"\npassword-env = \"P\"", "user goes with"),
            ("user = \"a:b\"\npassword-file = \"p\"", "contain `:`"),
            ("signature = \"required\"", "needs keys"),
            ("signature = \"off\"\nidentities = [{ issuer = \"i\", subject = \"s\" }]", "looks at no keys"),
            ("keys = [\"RWQx\"]", "not a public key"),
            ("keys = [\"cosign.pub\"]", "belongs into cosign-keys"),
            ("signature = \"off\"\ncosign-keys = [\"cosign.pub\"]", "looks at no keys"),
            ("identities = [{ issuer = \"i\", subject = \"\" }]", "compared exactly"),
            ("realms = [\"https://auth.example.com\"]", "not a host"),
            ("realms = [\"*.example.com\"]", "not a host"),
            ("timeout = \"0s\"", "timeout must be"),
            ("timeout = \"2h\"", "timeout must be"),
        ] {
            let error = toml::from_str::<SourceSettings>(text).unwrap().check().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        for text in ["signature = \"sometimes\"", "any-identity = true", "identities = [{ issuer = \"i\" }]"] {
            assert!(toml::from_str::<SourceSettings>(text).is_err(), "{text}");
        }
        let good = format!("signature = \"required\"\nkeys = [\"{key}\"]\nuser = \"a\"\npassword-env = \"P\"");
        toml::from_str::<SourceSettings>(&good).unwrap().check().unwrap();
    }

    #[test]
    fn a_password_is_not_shown() {
        let settings = SourceSettings { password: Some("hunter2".to_owned().into()), ..table("a") };
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
