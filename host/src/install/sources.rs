//! All sources as one: which of them a reference belongs to, and what the operator says about it.

use super::file;
use super::found::{FetchError, Found, Source};
use super::reference::Reference;
use super::settings::SourceTables;
use crate::policy::Digest;
use async_trait::async_trait;

/// Files, web servers and registries, under the policies of `[sources]`.
pub struct Sources {
    tables: SourceTables,
}

impl Sources {
    /// Under these policies.
    pub fn new(tables: SourceTables) -> Self {
        Self { tables }
    }
}

#[async_trait]
impl Source for Sources {
    async fn fetch(&self, reference: &str) -> Result<Found, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        let _settings = self.tables.of(&parsed.place());
        match parsed {
            Reference::File(path) => file::fetch(&path).map_err(fail),
            Reference::Web { .. } | Reference::Oci(_) => Err(fail("it cannot be fetched yet".into())),
        }
    }

    async fn newest(&self, reference: &str) -> Result<Digest, FetchError> {
        self.fetch(reference).await.map(|found| found.digest)
    }
}
