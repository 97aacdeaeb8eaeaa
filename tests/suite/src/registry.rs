//! An OCI registry for pulls and pushes, which can require a login and send false answers.

use crate::web::{Reply, Seen, Web};
use base64::Engine;
use serde_json::{Value, json};
use sha2::Digest;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The media type of a manifest of one artefact.
pub const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of a component.
pub const WASM: &str = "application/wasm";
/// The media type of a component's configuration.
pub const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The type of a minisign signature of an artefact.
pub const MINISIGN: &str = "application/vnd.portcullis.signature.minisign";
/// The type of a sigstore bundle for an artefact.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Returns a false answer, or `None` for the registry's own.
type Lie = Arc<dyn Fn(&Seen) -> Option<Reply> + Send + Sync>;

#[derive(Default)]
struct RegistryState {
    blobs: BTreeMap<String, Vec<u8>>,
    /// From repository and tag or digest to media type and content.
    manifests: BTreeMap<(String, String), (String, Vec<u8>)>,
    /// User and password, base64.
    account: Option<String>,
    no_referrers: bool,
    lie: Option<Lie>,
}

/// The registry, on a port of the loopback.
pub struct Registry {
    /// The server, which records requests.
    pub web: Web,
    state: Arc<Mutex<RegistryState>>,
}

impl Default for Registry {
    fn default() -> Self {
        let state = Arc::new(Mutex::new(RegistryState::default()));
        let kept = state.clone();
        let web = Web::serve(move |seen| {
            let mut state = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let lie = state.lie.clone();
            lie.and_then(|lie| lie(seen)).unwrap_or_else(|| state.answer(seen))
        });
        Self { web, state }
    }
}

impl Registry {
    /// A reference to an artefact in this registry.
    pub fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.web.address)
    }

    /// Stores a blob. Returns its descriptor.
    pub fn blob(&self, kind: &str, bytes: &[u8]) -> Value {
        self.state().blobs.insert(sha256(bytes), bytes.to_vec());
        json!({"mediaType": kind, "digest": sha256(bytes), "size": bytes.len()})
    }

    /// Replaces the bytes under the digest of a descriptor.
    pub fn swap(&self, descriptor: &Value, bytes: &[u8]) {
        self.state().blobs.insert(text(&descriptor["digest"]), bytes.to_vec());
    }

    /// Stores the blobs of a component. Returns its manifest.
    pub fn manifest(&self, component: &[u8]) -> Value {
        let config = json!({"architecture": "wasm", "os": "wasip2", "layerDigests": [sha256(component)]}).to_string();
        let (config, layer) = (self.blob(CONFIG, config.as_bytes()), self.blob(WASM, component));
        json!({"schemaVersion": 2, "mediaType": IMAGE, "config": config, "layers": [layer]})
    }

    /// Stores a manifest under a tag and its digest. Returns the digest.
    pub fn publish(&self, repository: &str, tag: &str, manifest: &Value) -> String {
        let (kind, bytes) = (text(&manifest["mediaType"]), manifest.to_string().into_bytes());
        let name = sha256(&bytes);
        for reference in [tag, &name] {
            self.state().manifests.insert((repository.into(), reference.into()), (kind.clone(), bytes.clone()));
        }
        name
    }

    /// Stores a signature that refers to the manifest of that digest.
    pub fn sign(&self, repository: &str, about: &str, kind: &str, signature: &str) -> String {
        let layer = self.blob(kind, signature.as_bytes());
        let config = self.blob("application/vnd.oci.empty.v1+json", b"{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": IMAGE, "artifactType": kind, "config": config, "layers": [layer],
            "subject": {"mediaType": IMAGE, "digest": about, "size": 1},
        });
        self.publish(repository, "signature", &manifest)
    }

    /// Requires a login from now on.
    pub fn demand(&self, user: &str, password: &str) {
        let account = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        self.state().account = Some(account);
    }

    /// Disables the referrers API.
    pub fn forget_referrers(&self) {
        self.state().no_referrers = true;
    }

    /// Sends the lie's answers, where it has one, from now on.
    pub fn lie(&self, lie: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) {
        self.state().lie = Some(Arc::new(lie));
    }

    /// The manifest under a tag.
    pub fn kept(&self, repository: &str, tag: &str) -> Option<Value> {
        let state = self.state();
        let (_, bytes) = state.manifests.get(&(repository.to_owned(), tag.to_owned()))?;
        serde_json::from_slice(bytes).ok()
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistryState {
    fn answer(&mut self, seen: &Seen) -> Reply {
        if seen.path() == "/token" {
            return self.token(seen);
        }
        if let Some(refusal) = self.refusal(seen) {
            return refusal;
        }
        let path = seen.path().strip_prefix("/v2/").unwrap_or_default().to_owned();
        for (kind, serve) in [
            ("/manifests/", Self::manifests as Serve),
            ("/blobs/", Self::blob),
            ("/referrers/", Self::referrers),
            ("/tags/list", Self::tags),
        ] {
            if let Some((repository, rest)) = path.split_once(kind) {
                return serve(self, seen, repository, rest);
            }
        }
        Reply::new(404, "")
    }

    /// The token is the scope for which it was issued.
    fn token(&self, seen: &Seen) -> Reply {
        let basic = self.account.as_ref().map(|account| format!("Basic {account}"));
        if basic.is_some() && seen.header("authorization") != basic.as_deref() {
            return Reply::new(401, "who are you?");
        }
        let scope = seen.target.split(['?', '&']).find_map(|part| part.strip_prefix("scope="));
        Reply::json(json!({"token": scope.unwrap_or_default(), "expires_in": 60}))
    }

    fn refusal(&self, seen: &Seen) -> Option<Reply> {
        self.account.as_ref()?;
        let host = seen.header("host").unwrap_or_default();
        let repository = seen.path().strip_prefix("/v2/")?.split_once(['/'])?.0;
        let token = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let reading = matches!(seen.method.as_str(), "GET" | "HEAD");
        let good = token.is_some_and(|token| token.contains(repository) && (reading || token.contains("push")));
        let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"registry\",scope=\"anything\"");
        (!good).then(|| Reply::new(401, "").with("WWW-Authenticate", &challenge))
    }

    fn manifests(&mut self, seen: &Seen, repository: &str, reference: &str) -> Reply {
        let key = (repository.to_owned(), reference.to_owned());
        if seen.method == "PUT" {
            let kind = seen.header("content-type").unwrap_or_default().to_owned();
            let manifest: Value = serde_json::from_slice(&seen.bytes).unwrap_or_default();
            self.manifests.insert((repository.into(), sha256(&seen.bytes)), (kind.clone(), seen.bytes.clone()));
            self.manifests.insert(key, (kind, seen.bytes.clone()));
            let reply = Reply::new(201, "");
            let listed = !self.no_referrers && manifest["subject"].is_object();
            return if listed { reply.with("OCI-Subject", &text(&manifest["subject"]["digest"])) } else { reply };
        }
        match self.manifests.get(&key) {
            Some((kind, bytes)) => {
                Reply::new(200, bytes.clone()).with("Content-Type", kind).with("Docker-Content-Digest", &sha256(bytes))
            }
            None => Reply::new(404, ""),
        }
    }

    fn blob(&mut self, seen: &Seen, repository: &str, name: &str) -> Reply {
        match seen.method.as_str() {
            "POST" => Reply::new(202, "").with("Location", &format!("/v2/{repository}/blobs/uploads/1?state=x")),
            "PUT" => {
                let promised = seen.target.split(['?', '&']).find_map(|part| part.strip_prefix("digest="));
                let name = sha256(&seen.bytes);
                if promised.map(|promised| promised.replace("%3A", ":")).as_ref() != Some(&name) {
                    return Reply::new(400, "the digest is wrong");
                }
                self.blobs.insert(name, seen.bytes.clone());
                Reply::new(201, "")
            }
            _ => self.blobs.get(name).map_or_else(|| Reply::new(404, ""), |bytes| Reply::new(200, bytes.clone())),
        }
    }

    /// Two tags a page, in order.
    fn tags(&mut self, seen: &Seen, repository: &str, _: &str) -> Reply {
        let last = seen.target.split(['?', '&']).find_map(|part| part.strip_prefix("last=")).unwrap_or_default();
        let own = self.manifests.keys().filter(|(place, name)| place == repository && !name.contains(':'));
        let mut tags: Vec<_> = own.map(|(_, name)| name.clone()).filter(|name| name.as_str() > last).collect();
        let more = tags.len() > 2;
        tags.truncate(2);
        let next = format!("</v2/{repository}/tags/list?n=2&last={}>; rel=\"next\"", tags.last().map_or("", |tag| tag));
        let page = Reply::json(json!({"name": repository, "tags": tags}));
        if more { page.with("Link", &next) } else { page }
    }

    fn referrers(&mut self, _: &Seen, repository: &str, about: &str) -> Reply {
        if self.no_referrers {
            return Reply::new(404, "404 page not found");
        }
        let about_it = self.manifests.iter().filter_map(|((place, name), (kind, bytes))| {
            let manifest: Value = serde_json::from_slice(bytes).ok()?;
            let listed = place == repository && name.contains(':') && manifest["subject"]["digest"] == about;
            let size = bytes.len();
            listed.then(
                || json!({"mediaType": kind, "digest": name, "size": size, "artifactType": manifest["artifactType"]}),
            )
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": about_it.collect::<Vec<_>>()});
        Reply::new(200, index.to_string()).with("Content-Type", INDEX)
    }
}

type Serve = fn(&mut RegistryState, &Seen, &str, &str) -> Reply;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// `sha256:` and the digest of these bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let hex: String = sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
