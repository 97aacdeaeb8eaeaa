//! Why a host could not be started.

use crate::config::ConfigError;
use platform::audit::AuditLogError;
use platform::outbound::ClientBuildError;
use platform::secrets::SecretError;
use runtime::engine::CacheError;
use services::connections::BrokerError;
use services::model::ModelSetupError;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{}", .0.join("\n"))]
    Load(Vec<String>),
    #[error(transparent)]
    Connections(#[from] BrokerError),
    #[error(transparent)]
    Secrets(#[from] SecretError),
    #[error("connected accounts need a folder of their own: set PORTCULLIS_STATE or server.state")]
    NoState,
    #[error("the host's own binary cannot be found, so nothing can be compiled: {0}")]
    Worker(std::io::Error),
    #[error(transparent)]
    Model(#[from] ModelSetupError),
    #[error(transparent)]
    Audit(#[from] AuditLogError),
    #[error(transparent)]
    SpanExporter(#[from] ClientBuildError),
    #[error(
        "server.audit.required needs a folder for the audit log: set server.audit.folder, server.state or PORTCULLIS_STATE"
    )]
    NoAuditLog,
    #[error("the key of parked calls cannot be used: {0}")]
    ParkedKey(std::io::Error),
    #[error(transparent)]
    Task(tokio::task::JoinError),
}
