//! Fetches plugins from files, web servers and registries, under the policies of `[sources]`.

use super::oci::{self, Artifact};
use super::reference::{OciName, Reference};
use super::settings::{SourceSettings, SourceTables};
use super::signature::{UnverifiedSignature, is_signature_wanted, verify_signatures};
use super::source::{FetchError, FetchedComponent, Newest, PluginSource, Signer};
use super::{file_source, newest, web_source};
use crate::package::{Claims, Inspection};
use async_trait::async_trait;
use platform::outbound::GuardedClient;
use policy::Digest;
use std::path::Path;
use std::sync::OnceLock;

pub struct PluginSources {
    tables: SourceTables,
    /// Created at first use: files need no certificates.
    client: OnceLock<GuardedClient>,
}

impl PluginSources {
    pub fn new(tables: SourceTables) -> Self {
        Self { tables, client: OnceLock::new() }
    }

    /// Pushes a component and its signatures to a registry. Returns its name by digest.
    pub async fn push(
        &self,
        name: &OciName,
        bytes: Vec<u8>,
        inspection: &Inspection,
        signatures: Vec<UnverifiedSignature>,
    ) -> Result<OciName, FetchError> {
        let fail = |reason: String| FetchError { reference: name.to_string(), reason };
        let settings = self.tables.lookup(&Reference::Oci(name.clone()).location());
        let artifact = Artifact::from_component(bytes, inspection);
        let pushed = oci::push(self.client().map_err(fail)?, &settings, name, &artifact, signatures).await;
        pushed.map_err(|error| fail(error.to_string()))
    }

    fn client(&self) -> Result<&GuardedClient, String> {
        match self.client.get() {
            Some(client) => Ok(client),
            None => {
                GuardedClient::new().map(|client| self.client.get_or_init(|| client)).map_err(|error| error.to_string())
            }
        }
    }

    async fn try_fetch(&self, reference: &Reference) -> Result<FetchedComponent, String> {
        let settings = &self.tables.lookup(&reference.location());
        match reference {
            Reference::File(path) => {
                let (path, bytes) = file_source::read_component(path)?;
                let signatures =
                    if is_signature_wanted(settings) { file_source::find_signatures(&path)? } else { vec![] };
                let signer = verify(settings, &bytes, None, &signatures)?;
                Ok(fetched(bytes, Reference::File(path), signer))
            }
            Reference::Web { url, digest } => {
                let client = self.client()?;
                let signatures = if is_signature_wanted(settings) {
                    web_source::find_signatures(client, settings, url).await?
                } else {
                    vec![]
                };
                let bytes = web_source::fetch_component(client, settings, url, digest.as_ref()).await?;
                let signer = verify(settings, &bytes, None, &signatures)?;
                let pinned = Reference::Web { url: url.clone(), digest: Some(Digest::sha256(&bytes)) };
                Ok(fetched(bytes, pinned, signer))
            }
            Reference::Oci(name) => {
                let pulled = oci::pull(self.client()?, settings, name, is_signature_wanted(settings)).await;
                let pulled = pulled.map_err(|error| error.to_string())?;
                let signer = verify(settings, &pulled.bytes, Some(&pulled.manifest), &pulled.signatures)?;
                let (bytes, digest, resolved) = (pulled.bytes, pulled.digest, pulled.pinned.to_string());
                Ok(FetchedComponent { bytes, digest, resolved, signer, claims: pulled.claims })
            }
        }
    }

    /// The reference with the newest version, and why there may be newer ones.
    async fn newest_reference(&self, reference: Reference) -> Result<(Reference, Option<String>), String> {
        let Reference::Oci(name @ OciName { tag: Some(tag), digest: None, .. }) = &reference else {
            let note = reference.is_pinned().then(|| "it is pinned by digest: --to names another version".to_owned());
            return Ok((reference, note));
        };
        if !newest::is_version(tag) {
            return Ok((reference, None));
        }
        let settings = self.tables.lookup(&reference.location());
        let tags = oci::tags(self.client()?, &settings, name).await.map_err(|error| error.to_string())?;
        let note = tags.is_none().then(|| "its registry does not list tags: --to names a newer version".to_owned());
        Ok(match tags.as_deref().and_then(|tags| newest::newer_tag(tag, tags)) {
            Some(newer) => (Reference::Oci(OciName { tag: Some(newer.to_owned()), ..name.clone() }), note),
            None => (reference, note),
        })
    }

    /// The digest of the component that a reference refers to now.
    async fn latest_digest(&self, reference: &Reference) -> Result<Digest, String> {
        let settings = &self.tables.lookup(&reference.location());
        match reference {
            Reference::File(path) => file_source::read_component(path).map(|(_, bytes)| Digest::sha256(&bytes)),
            // A pinned reference has no newer component.
            Reference::Web { digest: Some(digest), .. } => Ok(digest.clone()),
            Reference::Web { url, digest: None } => web_source::fetch_component(self.client()?, settings, url, None)
                .await
                .map(|bytes| Digest::sha256(&bytes)),
            Reference::Oci(name) => {
                oci::latest_digest(self.client()?, settings, name).await.map_err(|error| error.to_string())
            }
        }
    }
}

#[async_trait]
impl PluginSource for PluginSources {
    async fn fetch(&self, reference: &str) -> Result<FetchedComponent, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        self.try_fetch(&parsed).await.map_err(fail)
    }

    async fn newest(&self, reference: &str) -> Result<Newest, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        let (newest, note) = self.newest_reference(parsed).await.map_err(fail)?;
        let digest = self.latest_digest(&newest).await.map_err(fail)?;
        Ok(Newest { reference: newest.to_string(), digest, note })
    }

    async fn exactly(&self, reference: &str) -> Result<Newest, FetchError> {
        let fail = |reason: String| FetchError { reference: reference.to_owned(), reason };
        let parsed = Reference::parse(reference).map_err(|error| fail(error.to_string()))?;
        let digest = self.latest_digest(&parsed).await.map_err(fail)?;
        Ok(Newest { reference: parsed.to_string(), digest, note: None })
    }
}

/// Writes a component as an OCI image layout. Returns the digest that it will have in a registry.
pub fn write_layout(bytes: Vec<u8>, inspection: &Inspection, folder: &Path) -> std::io::Result<Digest> {
    let artifact = Artifact::from_component(bytes, inspection);
    artifact.write_layout(folder)?;
    Ok(artifact.digest())
}

/// Reads a signature from a file, to be pushed with a component.
pub fn read_signature_file(path: &Path) -> std::io::Result<UnverifiedSignature> {
    file_source::read_signature(path).map(UnverifiedSignature::from_text)
}

fn fetched(bytes: Vec<u8>, resolved: Reference, signer: Option<Signer>) -> FetchedComponent {
    FetchedComponent {
        digest: Digest::sha256(&bytes),
        bytes,
        resolved: resolved.to_string(),
        signer,
        claims: Claims::default(),
    }
}

fn verify(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    signatures: &[UnverifiedSignature],
) -> Result<Option<Signer>, String> {
    verify_signatures(settings, component, manifest, signatures).map_err(|error| error.to_string())
}
