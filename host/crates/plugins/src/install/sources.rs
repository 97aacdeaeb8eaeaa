//! All sources as one: which of them a reference belongs to, and what the operator says about it.

use super::found::{FetchError, Found, Signer, Source};
use super::oci::{self, Artefact};
use super::reference::{OciName, Reference};
use super::settings::{SourceSettings, SourceTables};
use super::signature::{Evidence, judge, wanted};
use super::{file, web};
use crate::package::{Claims, Inspection};
use async_trait::async_trait;
use platform::outbound::Guarded;
use policy::Digest;
use std::path::Path;
use std::sync::OnceLock;

/// Files, web servers and registries, under the policies of `[sources]`.
pub struct Sources {
    tables: SourceTables,
    /// Made when it is needed first: files need no certificates.
    guarded: OnceLock<Guarded>,
}

impl Sources {
    /// Under these policies.
    pub fn new(tables: SourceTables) -> Self {
        Self { tables, guarded: OnceLock::new() }
    }

    /// Publishes a component, with signatures about it, and gives the reference that will always mean it.
    pub async fn push(
        &self,
        name: &OciName,
        bytes: Vec<u8>,
        inspection: &Inspection,
        signatures: Vec<Evidence>,
    ) -> Result<OciName, FetchError> {
        let fail = |reason: String| FetchError { reference: name.to_string(), reason };
        let settings = self.tables.of(&Reference::Oci(name.clone()).place());
        let artefact = Artefact::component(bytes, inspection);
        let pushed = oci::push(self.guarded().map_err(fail)?, &settings, name, &artefact, signatures).await;
        pushed.map_err(|error| fail(error.to_string()))
    }

    fn guarded(&self) -> Result<&Guarded, String> {
        match self.guarded.get() {
            Some(guarded) => Ok(guarded),
            None => Guarded::new().map(|made| self.guarded.get_or_init(|| made)).map_err(|error| error.to_string()),
        }
    }

    async fn try_fetch(&self, reference: &Reference) -> Result<Found, String> {
        let settings = &self.tables.of(&reference.place());
        match reference {
            Reference::File(path) => {
                let (path, bytes) = file::component(path)?;
                let evidence = if wanted(settings) { file::evidence(&path)? } else { vec![] };
                let signer = signer(settings, &bytes, None, &evidence)?;
                Ok(found(bytes, Reference::File(path), signer))
            }
            Reference::Web { url, digest } => {
                let guarded = self.guarded()?;
                let evidence = if wanted(settings) { web::evidence(guarded, settings, url).await? } else { vec![] };
                let bytes = web::component(guarded, settings, url, digest.as_ref()).await?;
                let signer = signer(settings, &bytes, None, &evidence)?;
                let pinned = Reference::Web { url: url.clone(), digest: Some(Digest::of(&bytes)) };
                Ok(found(bytes, pinned, signer))
            }
            Reference::Oci(name) => {
                let pulled = oci::pull(self.guarded()?, settings, name, wanted(settings)).await;
                let pulled = pulled.map_err(|error| error.to_string())?;
                let signer = signer(settings, &pulled.bytes, Some(&pulled.manifest), &pulled.evidence)?;
                let (bytes, digest, resolved) = (pulled.bytes, pulled.digest, pulled.pinned.to_string());
                Ok(Found { bytes, digest, resolved, signer, claims: pulled.claims })
            }
        }
    }

    async fn try_newest(&self, reference: &Reference) -> Result<Digest, String> {
        let settings = &self.tables.of(&reference.place());
        match reference {
            Reference::File(path) => file::component(path).map(|(_, bytes)| Digest::of(&bytes)),
            // It can only be that, whatever the server holds.
            Reference::Web { digest: Some(digest), .. } => Ok(digest.clone()),
            Reference::Web { url, digest: None } => {
                web::component(self.guarded()?, settings, url, None).await.map(|bytes| Digest::of(&bytes))
            }
            Reference::Oci(name) => {
                oci::newest(self.guarded()?, settings, name).await.map_err(|error| error.to_string())
            }
        }
    }
}

#[async_trait]
impl Source for Sources {
    async fn fetch(&self, reference: &str) -> Result<Found, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        self.try_fetch(&parsed).await.map_err(fail)
    }

    async fn newest(&self, reference: &str) -> Result<Digest, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        self.try_newest(&parsed).await.map_err(fail)
    }
}

/// Writes a component into a folder as an OCI image layout, and gives the digest a registry would name it by.
pub fn pack(bytes: Vec<u8>, inspection: &Inspection, folder: &Path) -> std::io::Result<Digest> {
    let artefact = Artefact::component(bytes, inspection);
    artefact.write_layout(folder)?;
    Ok(artefact.digest())
}

/// A signature in a file, to be published beside a component.
pub fn signature_file(path: &Path) -> std::io::Result<Evidence> {
    file::signature(path).map(Evidence::guess)
}

fn found(bytes: Vec<u8>, resolved: Reference, signer: Option<Signer>) -> Found {
    Found { digest: Digest::of(&bytes), bytes, resolved: resolved.to_string(), signer, claims: Claims::default() }
}

fn signer(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    evidence: &[Evidence],
) -> Result<Option<Signer>, String> {
    judge(settings, component, manifest, evidence).map_err(|error| error.to_string())
}
