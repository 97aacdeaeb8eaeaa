//! Why a component cannot be linked.

/// Each is a sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    #[error("it needs an import that this host does not offer: {0}")]
    Import(String),
    #[error("{0}")]
    Export(String),
}
