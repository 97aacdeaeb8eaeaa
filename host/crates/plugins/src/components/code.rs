//! The code of one plugin, loaded when it is first called: most tools of a host are never called.

use super::error::ComponentError;
use super::library::ComponentLibrary;
use crate::package::Digest;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use platform::sync::Mutex;
use policy::PluginSpec;
use runtime::abi::PreparedComponent;
use runtime::engine::Profile;
use std::sync::{Arc, OnceLock, Weak};

/// Ends when the code is loaded, or cannot be.
pub(crate) type Loading = Shared<BoxFuture<'static, Result<(), Arc<ComponentError>>>>;

pub struct PluginCode {
    library: Weak<ComponentLibrary>,
    digest: Digest,
    profile: Profile,
    prepared: OnceLock<PreparedComponent>,
    loading: Mutex<Option<Loading>>,
}

impl PluginCode {
    pub(crate) fn new(library: &Arc<ComponentLibrary>, digest: Digest, profile: Profile) -> Arc<Self> {
        Self::with_library(Arc::downgrade(library), digest, profile)
    }

    /// For a plugin that is never called.
    #[cfg(test)]
    pub(crate) fn none() -> Arc<Self> {
        Self::with_library(Weak::new(), Digest::sha256(b""), Profile::Fuel)
    }

    fn with_library(library: Weak<ComponentLibrary>, digest: Digest, profile: Profile) -> Arc<Self> {
        Arc::new(Self { library, digest, profile, prepared: OnceLock::new(), loading: Mutex::default() })
    }

    /// None before it is first needed.
    pub(crate) fn loaded(&self) -> Option<&PreparedComponent> {
        self.prepared.get()
    }

    /// Loads the code in one task, however many calls wait for it. The task goes on when they give up: otherwise a component
    /// that takes longer to compile than a call may wait would never be called. If the code is gone from the cache, the
    /// component of `spec` is compiled again.
    pub(crate) fn load(self: &Arc<Self>, spec: &PluginSpec) -> Loading {
        let mut loading = self.loading.lock();
        // A load that has failed is tried again.
        if let Some(running) = loading.as_ref().filter(|running| running.peek().is_none()) {
            return running.clone();
        }
        let (code, spec) = (self.clone(), spec.clone());
        let task = tokio::spawn(async move { code.link(&spec).await.map_err(Arc::new) });
        let ended = async { task.await.unwrap_or_else(|_| Err(Arc::new(ComponentError::Stopped))) };
        loading.insert(ended.boxed().shared()).clone()
    }

    async fn link(&self, spec: &PluginSpec) -> Result<(), ComponentError> {
        let library = self.library.upgrade().ok_or(ComponentError::Stopped)?;
        let linked = library.linked(spec, &self.digest, self.profile).await?;
        self.prepared.get_or_init(|| PreparedComponent::new(linked));
        Ok(())
    }
}
