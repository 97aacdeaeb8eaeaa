//! Resolves the tables of a configuration file: checks names and values, makes paths absolute, and reads what comes from
//! the environment.

use super::code::CodeSettings;
use super::environment::{expand_home, inherited};
use super::error::ConfigError;
use super::tables::{CodeTable, ConfigTables, PluginTable};
use platform::audit::AuditSettings;
use platform::identity::AuthSettings;
use platform::secrets::SecretSource;
use plugins::install::{SourceSettings, SourceTables};
use policy::{DataKey, PluginId, PluginSpec, Side};
use services::connections::ConnectionSettings;
use services::model::ModelSettings;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use upstream::UpstreamSettings;

/// Where the tables come from.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    /// The file, for messages.
    pub(super) file: &'a Path,
    /// The folder of relative paths.
    pub(super) folder: &'a Path,
}

/// The audit log, unless another folder is named.
pub(super) fn audit_folder(state: &Path) -> PathBuf {
    state.join("audit")
}

impl Resolver<'_> {
    pub(super) fn error(&self, table: impl Into<String>, message: impl Into<String>) -> ConfigError {
        ConfigError::Table { path: self.file.to_owned(), table: table.into(), message: message.into() }
    }

    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(expand_home(path))
    }

    pub(super) fn plugins(
        &self,
        side: Side,
        tables: BTreeMap<String, PluginTable>,
    ) -> Result<Vec<PluginSpec>, ConfigError> {
        tables.into_iter().map(|(name, table)| self.plugin(side, &name, table)).collect()
    }

    pub(super) fn plugin(&self, side: Side, name: &str, table: PluginTable) -> Result<PluginSpec, ConfigError> {
        let fail = |message: String| self.error(format!("{}.{name}", side.table()), message);
        let id = PluginId::new(side, name).map_err(fail)?;
        table.limits.check().map_err(|error| fail(error.to_string()))?;
        let mut grants = table.grants;
        grants.check().map_err(fail)?;
        if side == Side::Agent && !table.idempotency.is_empty() {
            return Err(fail("`idempotency` is for the tools that clients call, those of [plugins]".into()));
        }
        for mount in &mut grants.filesystem {
            mount.host = self.path(&mount.host);
        }
        Ok(PluginSpec {
            source: self.path(&table.source),
            digest: table.digest,
            definitions: None,
            data: DataKey::configured(&id),
            prefix: table.prefix,
            private: table.private,
            grants,
            idempotency: table.idempotency,
            limits: table.limits.into(),
            id,
        })
    }

    /// The plugin is not looked up in the tables, since it may be an installed one.
    pub(super) fn code(&self, table: CodeTable) -> Result<CodeSettings, ConfigError> {
        let CodeTable { plugin, only, approval } = table;
        let plugin = PluginId::new(Side::Server, &plugin).map_err(|message| self.error("code", message))?;
        Ok(CodeSettings { plugin, only, approval })
    }

    /// The audit log is in the state folder by default.
    pub(super) fn audit(&self, mut settings: AuditSettings, state: Option<&Path>) -> AuditSettings {
        settings.folder = match settings.folder {
            Some(folder) => Some(self.path(&folder)),
            None => state.map(audit_folder),
        };
        settings
    }

    pub(super) fn auth(&self, mut settings: AuthSettings) -> Result<AuthSettings, ConfigError> {
        settings.check().map_err(|message| self.error("server.auth", message))?;
        settings.keys = settings.keys.map(|keys| self.path(&keys));
        if let Some(login) = settings.oauth.as_mut().and_then(|oauth| oauth.login.as_mut()) {
            login.client_secret_file = login.client_secret_file.take().map(|file| self.path(&file));
        }
        Ok(settings)
    }

    pub(super) fn model(&self, mut settings: ModelSettings) -> Result<ModelSettings, ConfigError> {
        settings.check().map_err(|message| self.error("model", message))?;
        settings.key_file = settings.key_file.map(|file| self.path(&file));
        Ok(settings)
    }

    pub(super) fn connections(
        &self,
        mut tables: BTreeMap<String, ConnectionSettings>,
    ) -> Result<BTreeMap<String, ConnectionSettings>, ConfigError> {
        for (name, settings) in &mut tables {
            let fail = |message: String| self.error(format!("connections.{name}"), message);
            check_name(name).map_err(fail)?;
            settings.check().map_err(fail)?;
            settings.client_secret_file = settings.client_secret_file.take().map(|file| self.path(&file));
        }
        Ok(tables)
    }

    pub(super) fn secrets(
        &self,
        tables: BTreeMap<String, SecretSource>,
    ) -> Result<BTreeMap<String, SecretSource>, ConfigError> {
        let resolve = |(name, source): (String, SecretSource)| {
            check_name(&name).map_err(|message| self.error(format!("secrets.{name}"), message))?;
            Ok((name, source.resolved(|file| self.path(file))))
        };
        tables.into_iter().map(resolve).collect()
    }

    pub(super) fn sources(&self, tables: BTreeMap<String, SourceSettings>) -> Result<SourceTables, ConfigError> {
        let resolve = |(name, settings): (String, SourceSettings)| {
            let fail = |message: String| self.error(format!("sources.{name:?}"), message);
            if name.contains("://") || name.is_empty() {
                return Err(fail("name a host, a host and folders, an absolute path, or * for everything".into()));
            }
            settings.check().map_err(fail)?;
            let mut settings = settings.with_paths(|file| self.path(file));
            // Read here because only the configuration reads the environment. A missing password is an error at first use.
            settings.password =
                settings.password_env.as_ref().and_then(|name| std::env::var(name).ok()).map(Into::into);
            Ok((name, settings))
        };
        tables.into_iter().map(resolve).collect::<Result<_, _>>().map(SourceTables::new)
    }

    /// The names of upstream servers are part of tool names, as those of plugins are, so they must differ.
    pub(super) fn upstreams(&self, tables: &ConfigTables) -> Result<Vec<UpstreamSettings>, ConfigError> {
        let resolve = |(name, settings): (&String, &UpstreamSettings)| {
            let fail = |message: String| self.error(format!("upstream.{name}"), message);
            if check_name(name).is_err() || name.contains("__") {
                return Err(fail("the name must be 1 to 32 of A-Z a-z 0-9 - _, without `__`".into()));
            }
            if tables.plugins.contains_key(name) || tables.agent.contains_key(name) {
                return Err(fail(
                    "a plugin has the same name, but names must be unique: they are part of tool names".into(),
                ));
            }
            resolve_upstream(name, settings.clone(), self.folder).map_err(fail)
        };
        tables.upstream.iter().map(resolve).collect()
    }
}

/// Resolves the settings of an upstream server. Paths are relative to `folder`.
pub fn resolve_upstream(name: &str, mut settings: UpstreamSettings, folder: &Path) -> Result<UpstreamSettings, String> {
    settings.key_file = settings.key_file.map(|file| folder.join(expand_home(&file)));
    settings.with_name(name, inherited())
}

/// Checks a name that is a part of tool names, grants and URLs.
fn check_name(name: &str) -> Result<(), String> {
    if policy::is_name(name, 32, "-_") { Ok(()) } else { Err("the name must be 1 to 32 of A-Z a-z 0-9 - _".into()) }
}
