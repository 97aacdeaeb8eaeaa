//! The code of one plugin, loaded when it is first called: most tools of a host are never called.

use super::error::ComponentError;
use super::library::ComponentLibrary;
use crate::package::Digest;
use policy::PluginSpec;
use runtime::abi::PreparedComponent;
use runtime::engine::Profile;
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;

pub struct PluginCode {
    library: Weak<ComponentLibrary>,
    digest: Digest,
    profile: Profile,
    prepared: OnceCell<PreparedComponent>,
}

impl PluginCode {
    pub(crate) fn new(library: &Arc<ComponentLibrary>, digest: Digest, profile: Profile) -> Self {
        Self { library: Arc::downgrade(library), digest, profile, prepared: OnceCell::new() }
    }

    /// Of a plugin that is never called.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { library: Weak::new(), digest: Digest::sha256(b""), profile: Profile::Fuel, prepared: OnceCell::new() }
    }

    /// None before it is first needed.
    pub(crate) fn loaded(&self) -> Option<&PreparedComponent> {
        self.prepared.get()
    }

    /// Loads the code, unless it is loaded. Concurrent callers wait for the one that does. If the code is gone from the
    /// cache, the component of `spec` is compiled again.
    pub(crate) async fn load(&self, spec: &PluginSpec) -> Result<&PreparedComponent, ComponentError> {
        let load = async {
            let library = self.library.upgrade().ok_or(ComponentError::Stopped)?;
            let linked = library.linked(spec, &self.digest, self.profile).await?;
            Ok(PreparedComponent::new(linked))
        };
        self.prepared.get_or_try_init(|| load).await
    }
}
