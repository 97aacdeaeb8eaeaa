//! Loads a plugin: opens its component and checks that it may be loaded as configured.

use super::argument_keys;
use super::error::{LoadError, LoadErrorKind};
use crate::catalog::{Plugin, PluginTraffic};
use crate::components::{ComponentError, ComponentLibrary, Description, PluginCode};
use crate::offer::CheckedOffer;
use crate::package::{self, Digest, Inspection, PackageError};
use crate::scratch;
use platform::sync::RwLock;
use platform::telemetry::printable;
use policy::{
    Authority, HostEnvironment, Metering, PluginId, PluginSpec, Side, Survive, WithdrawnList, secret_in_value,
};
use runtime::imports::{Offer, wasi};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

pub struct Loader {
    library: Arc<ComponentLibrary>,
    environment: RwLock<Arc<HostEnvironment>>,
    withdrawn: RwLock<Arc<WithdrawnList>>,
}

/// What a component is, without any configuration.
pub struct ExaminedComponent {
    pub digest: Digest,
    pub inspection: Inspection,
    pub offer: Offer,
}

impl Loader {
    pub fn new(library: ComponentLibrary) -> Self {
        Self { library: Arc::new(library), environment: RwLock::default(), withdrawn: RwLock::default() }
    }

    /// Sets the values that grants refer to by name, for plugins that are loaded from now on.
    pub fn set_environment(&self, environment: HostEnvironment) {
        *self.environment.write() = Arc::new(environment);
    }

    /// Sets the components that are refused from now on. Loaded plugins stay.
    pub fn set_withdrawn(&self, withdrawn: WithdrawnList) {
        *self.withdrawn.write() = Arc::new(withdrawn);
    }

    /// Current instances of all components.
    pub fn instance_count(&self) -> u64 {
        self.library.instances()
    }

    /// Makes what the first call of a plugin needs, on another thread.
    pub fn warm_up<'a>(&self, specs: impl Iterator<Item = &'a PluginSpec>) {
        for profile in specs.map(|spec| spec.limits.metering).collect::<HashSet<_>>() {
            let library = self.library.clone();
            tokio::task::spawn_blocking(move || library.warm_up(profile));
        }
    }

    /// Refuses a component that was withdrawn.
    pub fn check_not_withdrawn(&self, id: &PluginId, digest: &Digest) -> Result<(), LoadError> {
        self.refuse_withdrawn(digest).map_err(|kind| LoadError::new(id.table(), kind))
    }

    fn refuse_withdrawn(&self, digest: &Digest) -> Result<(), LoadErrorKind> {
        let list = self.withdrawn.read().clone();
        match list.reason(digest) {
            None => Ok(()),
            Some(why) => Err(LoadErrorKind::Withdrawn { digest: digest.clone(), why: printable(why).into_owned() }),
        }
    }

    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        self.load_examined(spec).await.map(|(plugin, _)| plugin)
    }

    /// Loads a plugin, and also returns what its component is.
    pub async fn load_examined(&self, spec: PluginSpec) -> Result<(Plugin, ExaminedComponent), LoadError> {
        let table = spec.id.table();
        let (plugin, description) = self.try_load(spec).await.map_err(|kind| LoadError::new(table, kind))?;
        let Description { inspection, offer, .. } = Arc::unwrap_or_clone(description);
        let examined = ExaminedComponent { digest: plugin.digest.clone(), inspection, offer };
        Ok((plugin, examined))
    }

    /// Loads a plugin again from its file; none when the file is unchanged.
    pub async fn load_if_changed(&self, old: &Plugin) -> Result<Option<Plugin>, LoadError> {
        let fail = |kind: ComponentError| LoadError::new(old.id().table(), kind);
        let mut file = ComponentLibrary::open(&old.spec).map_err(|error| fail(error.into()))?;
        if self.library.digest(&mut file, old.spec.limits.metering).map_err(fail)? == old.digest {
            return Ok(None);
        }
        self.load(old.spec.clone()).await.map(Some)
    }

    async fn try_load(&self, spec: PluginSpec) -> Result<(Plugin, Arc<Description>), LoadErrorKind> {
        let mut file = ComponentLibrary::open(&spec).map_err(ComponentError::from)?;
        let digest = self.library.digest(&mut file, spec.limits.metering)?;
        check_pinned(&spec, &digest)?;
        self.refuse_withdrawn(&digest)?;
        let description = self.library.description(&spec, &mut file, &digest).await?;
        let code = PluginCode::new(&self.library, digest.clone(), spec.limits.metering);
        let Description { inspection, offer, definitions, .. } = &*description;
        if let Some(agreed) = spec.definitions.as_ref().filter(|agreed| *agreed != definitions) {
            return Err(LoadErrorKind::DefinitionsChanged { found: definitions.clone(), agreed: agreed.clone() });
        }
        let offered = CheckedOffer::new(&spec.id, offer.clone(), definitions.clone()).map_err(ComponentError::from)?;
        argument_keys::check(&spec.idempotency, &offered.tools).map_err(LoadErrorKind::ArgumentKeys)?;
        let reads_steering = inspection.reads_steering();
        let requests = inspection.manifest.as_ref().map(|manifest| manifest.requests.clone()).unwrap_or_default();
        // A manifest may ask for more durability than the host provides by default, but not for less.
        let asked = inspection.manifest.as_ref().and_then(|manifest| manifest.survive);
        let survive = spec.limits.survive.or(asked.filter(|asked| *asked == Survive::PowerLoss));
        let environment = self.environment.read().clone();
        let authority = Authority::new(spec.id.clone(), &requests, &spec.grants);
        let authority = Arc::new(authority.with_environment(&environment, &spec.data));
        for grant in authority.unrequested_grants() {
            tracing::warn!(plugin = %spec.id, "the grant `{grant}` has no effect: the plugin's manifest does not request it");
        }
        for name in authority.env() {
            match environment.environment.get(name).map(|value| secret_in_value(value)) {
                Some(None) => {}
                Some(Some(what)) => tracing::error!(
                    plugin = %spec.id,
                    "the variable `{name}` is granted and not given, since its value is {what}: put the secret under [secrets.<name>] and \
                     grant `secrets`, and only the hosts you name are told it"
                ),
                None => tracing::warn!(
                    plugin = %spec.id,
                    "the variable `{name}` is granted, but not set where this host was started"
                ),
            }
        }
        let scratch_quota = scratch::prepare(&authority)?;
        wasi::check_mounts(&authority)?;
        let tools = offered.tools.iter().map(|tool| &tool.tool.name);
        let metrics = Arc::new(self.library.metrics.for_plugin(&spec.id.table(), tools));
        let plugin = Plugin {
            metrics,
            reads_steering,
            survive,
            spec,
            digest,
            authority,
            tools: offered.tools,
            resources: offered.resources,
            templates: offered.templates,
            prompts: offered.prompts,
            completes: offered.completes,
            definitions: offered.definitions,
            code,
            traffic: PluginTraffic::default(),
            scratch_quota,
        };
        Ok((plugin, description))
    }

    /// Inspects, compiles and describes a component without any configuration. `name` stands for it in errors.
    pub async fn examine(&self, name: &Path, bytes: &[u8]) -> Result<ExaminedComponent, LoadError> {
        let id = PluginId { side: Side::Server, name: "check".into() };
        let examined = async {
            let digest = Digest::sha256(bytes);
            self.refuse_withdrawn(&digest)?;
            let description = match self.library.checked_description(&digest, Metering::Fuel)? {
                Some(description) => description,
                None => {
                    let described = self.library.describe(name, &id, bytes, &digest, Metering::Fuel);
                    Arc::unwrap_or_clone(described.await?.1)
                }
            };
            Ok(ExaminedComponent { digest, inspection: description.inspection, offer: description.offer })
        };
        examined.await.map_err(|kind: LoadErrorKind| LoadError::new(name.display().to_string(), kind))
    }

    /// Inspects a component without compiling it. Its offer is known only if an earlier run compiled it.
    pub fn inspect_only(&self, spec: &PluginSpec) -> Result<(Digest, Inspection, Option<Offer>), LoadError> {
        let inspect = || {
            let mut file = ComponentLibrary::open(spec).map_err(ComponentError::from)?;
            let digest = Digest::sha256(file.bytes().map_err(ComponentError::from)?);
            check_pinned(spec, &digest)?;
            self.refuse_withdrawn(&digest)?;
            if let Some(Description { inspection, offer, .. }) = self.library.cached_description(&digest) {
                return Ok((digest, inspection, Some(offer)));
            }
            let refused = |error| ComponentError::from(PackageError::Invalid { path: spec.source.clone(), error });
            let inspected = package::inspect(file.bytes().map_err(ComponentError::from)?);
            Ok((digest, inspected.map_err(refused)?, None))
        };
        inspect().map_err(|kind: LoadErrorKind| LoadError::new(spec.id.table(), kind))
    }
}

/// Compares a component with the digest that the operator pinned.
fn check_pinned(spec: &PluginSpec, found: &Digest) -> Result<(), LoadErrorKind> {
    let (path, found) = (spec.source.clone(), found.clone());
    match spec.digest.clone() {
        Some(pinned) if pinned != found && spec.is_installed() => {
            Err(LoadErrorKind::InstalledFileChanged { path, found, pinned, name: spec.id.name.to_string() })
        }
        Some(pinned) if pinned != found => Err(LoadErrorKind::DigestMismatch { path, found, pinned }),
        Some(_) | None => Ok(()),
    }
}
