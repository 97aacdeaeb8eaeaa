//! `[sources]`: settings for places where plugins are published, by prefix of their location.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// The longest timeout that can be configured. Somebody waits for it in front of a terminal.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// Whether plugins of a source must be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignaturePolicy {
    /// A signature of a configured key or identity is required.
    Required,
    /// If a key or identity is configured and there are signatures, one of them must be valid. An attacker who controls the
    /// source can remove the signatures, so this protects from mistakes only.
    #[default]
    Optional,
    /// Signatures are not fetched.
    Off,
}

/// A trusted identity in a sigstore certificate. Compared exactly: patterns could match identities that the operator did
/// not mean.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SignerIdentity {
    /// The URL of the OIDC issuer.
    pub issuer: String,
    /// Such as the URL of a workflow or an email address.
    pub subject: String,
}

/// One table of `[sources]`.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SourceSettings {
    /// The user for authentication, if any.
    pub user: Option<String>,
    /// A file with the password or token.
    pub password_file: Option<PathBuf>,
    /// An environment variable with the password or token.
    pub password_env: Option<String>,
    /// The value of that variable; filled in by the configuration.
    #[serde(skip)]
    pub password: Option<Zeroizing<String>>,
    pub signature: SignaturePolicy,
    /// minisign public keys, as minisign prints them.
    pub keys: Vec<String>,
    /// Files with cosign public keys in PEM.
    pub cosign_keys: Vec<PathBuf>,
    /// Identities of sigstore signers.
    pub identities: Vec<SignerIdentity>,
    /// The trusted root of sigstore. None for the built-in one of the public instance.
    pub trusted_root: Option<PathBuf>,
    /// Hosts besides the registry itself that may receive its credentials in exchange for a token.
    pub realms: Vec<String>,
    /// Whether the source may be in a private network. Such addresses are refused otherwise.
    pub private: bool,
    /// Whether layers of the media type before `application/wasm` are accepted.
    pub legacy_media_types: bool,
    /// The longest time that one answer may take.
    #[serde(with = "humantime_serde")]
    pub timeout: Option<Duration>,
}

/// Never shows the password.
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
    /// Checks that the settings are consistent.
    pub fn check(&self) -> Result<(), String> {
        let passwords = usize::from(self.password_file.is_some()) + usize::from(self.password_env.is_some());
        if usize::from(self.user.is_some()) != passwords {
            return Err("user needs exactly one of password-file and password-env, and they need a user".into());
        }
        if self.user.as_ref().is_some_and(|user| user.is_empty() || user.contains([':', '\n', '\r'])) {
            return Err("user must not be empty or contain `:`".into());
        }
        if self.signature == SignaturePolicy::Required && !self.names_signers() {
            return Err("signature = \"required\" needs keys, cosign-keys or identities whose signatures count".into());
        }
        if self.signature == SignaturePolicy::Off && self.names_signers() {
            return Err("signature = \"off\" ignores keys and identities; remove them, or write \"required\"".into());
        }
        if let Some(key) = self.keys.iter().find(|key| minisign_verify::PublicKey::from_base64(key).is_err()) {
            let key = platform::telemetry::printable(key);
            return Err(format!(
                "keys: `{key}` is not a minisign public key, which is one word that begins with RW; a file with a cosign \
                 key belongs in cosign-keys"
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
        if self.timeout.is_some_and(|timeout| timeout.is_zero() || timeout > MAX_TIMEOUT) {
            return Err(format!(
                "timeout must be more than 0s and at most {}",
                humantime::format_duration(MAX_TIMEOUT)
            ));
        }
        Ok(())
    }

    /// Whether any key or identity is configured.
    pub fn names_signers(&self) -> bool {
        !(self.keys.is_empty() && self.cosign_keys.is_empty() && self.identities.is_empty())
    }

    /// Makes paths absolute.
    pub fn with_paths(mut self, resolve: impl Fn(&Path) -> PathBuf) -> Self {
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
    /// The tables by prefix of the location: a host, a host and folders, an absolute path, or `*` for everything.
    pub fn new(tables: BTreeMap<String, SourceSettings>) -> Self {
        Self(tables)
    }

    /// The settings with the longest matching prefix, by whole path segments. Settings are not inherited from shorter
    /// prefixes.
    pub fn lookup(&self, location: &str) -> SourceSettings {
        let matches = |name: &str| {
            let name = name.trim_end_matches('/');
            location.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let matching = self.0.iter().filter(|(name, _)| *name != "*" && matches(name));
        let longest = matching.max_by_key(|(name, _)| name.trim_end_matches('/').len()).map(|(_, settings)| settings);
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
    fn the_longest_prefix_wins() {
        let names = [
            "*",
            "r.example.com",
            "r.example.com/acme",
            "r.example.com/acme/files/",
            "/srv/plugins",
            "r.example.com:5000",
        ];
        let tables = SourceTables::new(names.iter().map(|name| ((*name).to_owned(), table(name))).collect());
        for (location, name) in [
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
            assert_eq!(tables.lookup(location).user.as_deref(), Some(name), "{location}");
        }
        assert_eq!(SourceTables::default().lookup("x").user, None);
    }

    #[test]
    fn inconsistent_settings_are_refused() {
        let key = "RWQHBwcHBwcHB+pKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs";
        for (text, words) in [
            ("user = \"a\"", "user needs"),
            ("password-file = \"p\"", "user needs"),
            ("user = \"a\"\npassword-file = \"p\"\npassword-env = \"P\"", "user needs"),
            ("user = \"a:b\"\npassword-file = \"p\"", "contain `:`"),
            ("signature = \"required\"", "needs keys"),
            ("signature = \"off\"\nidentities = [{ issuer = \"i\", subject = \"s\" }]", "ignores keys"),
            ("keys = [\"RWQx\"]", "not a minisign public key"),
            ("keys = [\"cosign.pub\"]", "belongs in cosign-keys"),
            ("signature = \"off\"\ncosign-keys = [\"cosign.pub\"]", "ignores keys"),
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
    fn the_password_is_not_shown() {
        let settings = SourceSettings { password: Some("hunter2".to_owned().into()), ..table("a") };
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
