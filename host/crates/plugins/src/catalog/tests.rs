//! Which plugins can be loaded side by side, and what a new version announces.

use super::{
    Catalog, CatalogError, CatalogRules, CurrentCatalog, ItemRequest, ListedItem, Missing, MissingPlugins, Plugin,
    ServerOutcome, ServerRequests, UpstreamOffers, UpstreamServer,
};
use crate::components::PluginCode;
use crate::offer::{self, CheckedOffer, definitions_digest};
use platform::changes::{Change, ChangeNotifier, ListPart};
use policy::{Authority, DataKey, Digest, Grants, Limits, PluginId, PluginSpec, Side};
use runtime::imports::{AgentError, Offer, ReverseCall};
use std::sync::Arc;

/// A plugin. Versions differ in their `code`.
fn plugin(name: &str, prefix: bool, code: &str, offer: Offer) -> Arc<Plugin> {
    let id = PluginId { side: Side::Server, name: name.into() };
    let definitions = definitions_digest(&offer);
    let CheckedOffer { tools, resources, templates, prompts, completes, definitions } =
        CheckedOffer::new(&id, offer::check(offer).unwrap(), definitions).unwrap();
    let metrics = Arc::new(platform::telemetry::Metrics::new());
    Arc::new(Plugin {
        metrics: Arc::new(metrics.for_plugin(&id.table(), [""])),
        authority: Arc::new(Authority::none(id.clone())),
        spec: PluginSpec {
            data: DataKey::configured(&id),
            id,
            source: "x".into(),
            digest: None,
            definitions: None,
            prefix,
            private: false,
            grants: Grants::default(),
            idempotency: Default::default(),
            limits: Arc::new(Limits::default()),
        },
        digest: Digest::sha256(code.as_bytes()),
        tools,
        resources,
        templates,
        prompts,
        completes,
        reads_steering: false,
        survive: None,
        definitions,
        code: PluginCode::none(),
        traffic: Default::default(),
        scratch_quota: None,
    })
}

/// A server of which clients see all.
struct Exposed;

#[async_trait::async_trait]
impl ServerRequests for Exposed {
    fn exposes(&self, _uri: &str) -> bool {
        true
    }

    async fn request(&self, _request: ItemRequest, _call: ReverseCall) -> ServerOutcome {
        ServerOutcome { answer: Err(AgentError::Cancelled), spent: Default::default(), meta: Default::default() }
    }
}

/// A server behind the host with these resources and templates.
pub(super) fn server(name: &str, resources: &[&str], templates: &[&str]) -> Arc<UpstreamServer> {
    let items = |keys: &[&str]| {
        let item = |key: &&str| Arc::new(ListedItem { key: (*key).to_owned(), members: Default::default() });
        keys.iter().map(item).collect()
    };
    Arc::new(UpstreamServer::new(name, Arc::new(Exposed), items(resources), items(templates), vec![]))
}

fn offers(resources: &[&str], templates: &[&str], prompts: &[&str]) -> Offer {
    use crate::offer::testing::{prompt, resource, template};
    Offer {
        resources: resources.iter().map(|uri| resource(uri)).collect(),
        templates: templates.iter().map(|uri| template(uri)).collect(),
        prompts: prompts.iter().map(|name| prompt(name, &[])).collect(),
        ..Offer::default()
    }
}

#[test]
fn a_uri_belongs_to_one_plugin() {
    let a = |resources, templates| plugin("a", true, "", offers(resources, templates, &[]));
    let b = |resources, templates| plugin("b", true, "", offers(resources, templates, &[]));
    let load_both = |a, b| Catalog::new(vec![a, b], vec![]).map(|_| ());
    assert_eq!(load_both(a(&["n:1"], &["n:{x}"]), b(&["m:1"], &["m:{x}", "n:x/{y}"])), Ok(()));
    for (a, b) in [
        (a(&["n:1"], &[]), b(&["n:1"], &[])),
        (a(&["n:1"], &[]), b(&[], &["n:{x}"])),
        (a(&[], &["n:{x}"]), b(&["n:1"], &[])),
        (a(&[], &["n:{x}"]), b(&[], &["n:{other}"])),
        (a(&[], &["n:{x}/1"]), b(&[], &["n:2/{y}"])),
    ] {
        let error = load_both(a, b).unwrap_err().to_string();
        assert!(error.contains("[plugins.a]") && error.contains("[plugins.b]") && error.contains("n:"), "{error}");
    }
    let catalog = Catalog::new(vec![a(&["n:1"], &["n:{x}"]), b(&["m:1"], &["m:{x}/y"])], vec![]).unwrap();
    let reader = |uri: &str| catalog.plugin_for_uri(uri).map(|plugin| plugin.id().name.clone());
    for (uri, name) in [("n:1", "a"), ("n:2", "a"), ("m:1", "b"), ("m:2/y", "b")] {
        assert_eq!(reader(uri).as_deref(), Some(name), "{uri}");
    }
    assert_eq!((reader("m:2"), reader("n:"), reader("n:1/2")), (None, None, None));
}

#[test]
fn prompt_names_are_prefixed_and_must_be_unique() {
    let plugin = |name, prefix| plugin(name, prefix, "", offers(&[], &[], &["ask"]));
    let catalog = Catalog::new(vec![plugin("a", true), plugin("b", true), plugin("c", false)], vec![]).unwrap();
    assert_eq!(catalog.prompts().map(|(name, _)| name).collect::<Vec<_>>(), ["a__ask", "ask", "b__ask"]);
    let error = Catalog::new(vec![plugin("a", false), plugin("b", false)], vec![]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("both offer a prompt as `ask`"), "{error}");
}

fn reserves() -> CatalogRules {
    CatalogRules { reserved: &["steer_call"], only: None }
}

#[test]
fn reserved_names_are_refused() {
    use crate::offer::testing::tool;
    let plugin = |prefix| plugin("a", prefix, "", Offer { tools: vec![tool("steer_call")], ..Offer::default() });
    let catalog = Catalog::with_rules(vec![plugin(true)], vec![], reserves()).unwrap();
    for result in [
        catalog.with_plugins(vec![plugin(false)], vec![], MissingPlugins::new()),
        Catalog::with_rules(vec![plugin(false)], vec![], reserves()),
    ] {
        let error = result.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("[plugins.a]") && error.contains("`steer_call`"), "{error}");
    }
    assert!(Catalog::new(vec![plugin(false)], vec![]).is_ok());
}

#[test]
fn only_differences_are_announced() {
    let version = |code: &str, resources: &[&str], prompts: &[&str]| {
        plugin("a", true, code, offers(resources, &["t:{x}"], prompts))
    };
    let changes = ChangeNotifier::new();
    let first = Catalog::new(vec![version("1", &["n:1"], &["ask"])], vec![]).unwrap();
    let current = CurrentCatalog::new(first, changes.clone());
    let before = current.snapshot();
    let mut announced = changes.subscribe();
    let mut replace = |plugin: Arc<Plugin>| {
        current.replace(current.snapshot().with_plugins(vec![plugin], vec![], MissingPlugins::new()).unwrap());
        std::iter::from_fn(|| announced.try_recv().ok()).collect::<Vec<_>>()
    };
    let updated = |uri: &str| Change::Resource(None, uri.to_owned());
    assert_eq!(replace(version("1", &["n:1"], &["ask"])), []);
    assert_eq!(replace(version("2", &["n:1"], &["ask"])), [updated("n:1")]);
    assert_eq!(
        replace(version("3", &["n:1", "n:2"], &["ask"])),
        [Change::Resources(ListPart::Shared(3)), updated("n:1")]
    );
    assert_eq!(replace(version("3", &["n:1", "n:2"], &["tell"])), [Change::Prompts(ListPart::Shared(4))]);
    assert!(before.plugin_for_uri("n:2").is_none(), "a snapshot does not change");
}

#[test]
fn lookalike_names_of_different_plugins_are_refused() {
    let tools = |names: &[&str]| {
        let tools = names.iter().map(|name| crate::offer::testing::tool(name)).collect();
        Offer { tools, ..Offer::default() }
    };
    let named = |name: &str, prefix, names: &[&str]| plugin(name, prefix, "", tools(names));
    let load_both = |a, b| Catalog::new(vec![a, b], vec![]).map(|_| ());
    for lookalike in ["read_fi1e", "Read_File", "read-file", "READ_FILE", "read_fiIe"] {
        let error =
            load_both(named("a", false, &["read_file"]), named("b", false, &[lookalike])).unwrap_err().to_string();
        assert!(
            ["plugins.a", "plugins.b", "`read_file`", lookalike].iter().all(|word| error.contains(word)),
            "{error}"
        );
        assert_eq!(load_both(named("a", true, &["read_file"]), named("b", true, &[lookalike])), Ok(()));
    }
    assert_eq!(load_both(named("a", false, &["get_1", "get_l"]), named("b", false, &["x"])), Ok(()), "its own");
    // With its prefix, or without it, clients may cut both names to the same 46 characters.
    let (one, other) = (format!("{}_one", "x".repeat(42)), format!("{}_other", "x".repeat(42)));
    assert_eq!(load_both(named("a", false, &[&one, &other]), named("b", false, &["x"])), Ok(()));
    let error = load_both(named("a", true, &[&one, &other]), named("b", false, &["x"])).unwrap_err();
    assert!(matches!(error, CatalogError::Folded { .. }), "{error}");
    // The names that clients make do not show where a prefix ends.
    let error = load_both(named("a", true, &["b_c"]), named("a_b", true, &["c"])).unwrap_err();
    assert!(matches!(error, CatalogError::Lookalike { .. }), "{error}");
    let error = Catalog::new(vec![named("a", false, &["portcu11is_update"])], vec![]).map(|_| ()).unwrap_err();
    assert!(matches!(error, CatalogError::Host { .. }));
    let reserved = Catalog::with_rules(vec![named("a", false, &["Steer-Call"])], vec![], reserves()).map(|_| ());
    assert!(matches!(reserved.unwrap_err(), CatalogError::Reserved { .. }));
    let mut noted = tools(&["note"]);
    noted.tools[0].description = "Run it and not read_file (or `note`).".into();
    let catalog = Catalog::new(vec![named("a", false, &["read_file"]), plugin("b", false, "", noted)], vec![]).unwrap();
    assert_eq!(
        catalog.cross_plugin_mentions(),
        ["[plugins.b] the description of `note` mentions `read_file`, a tool of [plugins.a]"]
    );
}

#[tokio::test]
async fn what_is_looked_for_is_waited_for_while_something_is_loaded() {
    let missing = |why: Missing| MissingPlugins::from([("plugins.a".to_owned(), why)]);
    let a = plugin("a", true, "", offers(&["n:1"], &[], &[]));
    let current = CurrentCatalog::new(
        Catalog::starting(CatalogRules::default(), missing(Missing::Loading), true),
        ChangeNotifier::new(),
    );
    let mut found = Box::pin(current.when(|catalog| catalog.plugin_for_uri("n:1").is_some()));
    let mut loaded = Box::pin(current.loaded());
    assert!(futures::poll!(&mut found).is_pending() && futures::poll!(&mut loaded).is_pending());
    // The plugin is there, and a server is still being connected.
    current.update(|now| now.with_plugins(vec![a.clone()], vec![], MissingPlugins::new())).unwrap();
    assert!(futures::poll!(&mut found).is_ready() && futures::poll!(&mut loaded).is_pending());
    current.update(|now| now.with_upstreams(UpstreamOffers::default())).unwrap();
    assert!(!loaded.await.is_loading());
    // There is no waiting for what cannot come.
    let failed = missing(Missing::Failed("why".into()));
    current.update(|now| now.with_plugins(vec![], vec![], failed.clone())).unwrap();
    let catalog = current.when(|catalog| catalog.plugin_for_uri("n:1").is_some()).await;
    assert!(catalog.plugin_for_uri("n:1").is_none() && *catalog.missing() == failed);
}
