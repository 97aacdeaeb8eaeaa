//! Plugins side by side: which can stand so, and what a new version changes.

use super::*;
use crate::package::{Digest, Inspection};
use crate::registry::CurrentCatalog;
use crate::registry::offer::{self, Offered};
use platform::changes::{Change, Changes};
use policy::{Authority, Grants, Limits, PluginId, PluginSpec, Side};
use runtime::abi::Abi;
use runtime::engine::{Component, Engines, Profile};
use runtime::imports::Offer;

/// A component of nothing: what it offers is made up.
const EMPTY: &[u8] = &[0, b'a', b's', b'm', 13, 0, 1, 0];

struct Made(Abi, Component);

impl Made {
    fn new() -> Self {
        let engines = Engines::new();
        let engine = engines.get(Profile::Fuel).unwrap();
        Self(Abi::new(engine).unwrap(), Component::new(engine, EMPTY).unwrap())
    }

    /// A plugin; `code` tells one version of it from another.
    fn plugin(&self, name: &str, prefix: bool, code: &str, offer: Offer) -> Arc<Plugin> {
        let id = PluginId { side: Side::Server, name: name.into() };
        let Offered { tools, resources, templates, prompts, completes, definitions, suspicions } =
            offer::check(offer).unwrap();
        let metrics = Arc::new(platform::telemetry::Metrics::new());
        Arc::new(Plugin {
            meter: Arc::new(metrics.of_plugin(&id.table(), [""])),
            authority: Arc::new(Authority::none(id.clone())),
            spec: PluginSpec {
                id,
                source: "x".into(),
                digest: None,
                definitions: None,
                prefix,
                private: false,
                grants: Grants::default(),
                limits: Limits::default(),
            },
            digest: Digest::of(code.as_bytes()),
            inspection: Inspection::default(),
            tools,
            resources,
            templates,
            prompts,
            completes,
            definitions,
            suspicions,
            prepared: self.0.prepare(&self.1).unwrap(),
            traffic: Default::default(),
            room: None,
        })
    }
}

fn offers(resources: &[&str], templates: &[&str], prompts: &[&str]) -> Offer {
    use crate::registry::offer::testing::{prompt, resource, template};
    Offer {
        resources: resources.iter().map(|uri| resource(uri)).collect(),
        templates: templates.iter().map(|uri| template(uri)).collect(),
        prompts: prompts.iter().map(|name| prompt(name, &[])).collect(),
        ..Offer::default()
    }
}

#[test]
fn whoever_answers_for_a_uri_is_the_only_one() {
    let made = Made::new();
    let a = |resources, templates| made.plugin("a", true, "", offers(resources, templates, &[]));
    let b = |resources, templates| made.plugin("b", true, "", offers(resources, templates, &[]));
    let together = |a, b| Catalog::new(vec![a, b], vec![]).map(|_| ());
    assert_eq!(together(a(&["n:1"], &["n:{x}"]), b(&["m:1"], &["m:{x}", "n:x/{y}"])), Ok(()));
    for (a, b) in [
        (a(&["n:1"], &[]), b(&["n:1"], &[])),
        (a(&["n:1"], &[]), b(&[], &["n:{x}"])),
        (a(&[], &["n:{x}"]), b(&["n:1"], &[])),
        (a(&[], &["n:{x}"]), b(&[], &["n:{other}"])),
        (a(&[], &["n:{x}/1"]), b(&[], &["n:2/{y}"])),
    ] {
        let error = together(a, b).unwrap_err().to_string();
        assert!(error.contains("[plugins.a]") && error.contains("[plugins.b]") && error.contains("n:"), "{error}");
    }
    let catalog = Catalog::new(vec![a(&["n:1"], &["n:{x}"]), b(&["m:1"], &["m:{x}/y"])], vec![]).unwrap();
    let reader = |uri: &str| catalog.reader(uri).map(|plugin| plugin.id().name.clone());
    for (uri, name) in [("n:1", "a"), ("n:2", "a"), ("m:1", "b"), ("m:2/y", "b")] {
        assert_eq!(reader(uri).as_deref(), Some(name), "{uri}");
    }
    assert_eq!((reader("m:2"), reader("n:"), reader("n:1/2")), (None, None, None));
}

#[test]
fn prompts_are_named_as_tools_are() {
    let made = Made::new();
    let plugin = |name, prefix| made.plugin(name, prefix, "", offers(&[], &[], &["ask"]));
    let catalog = Catalog::new(vec![plugin("a", true), plugin("b", true), plugin("c", false)], vec![]).unwrap();
    assert_eq!(catalog.prompts().map(|(name, _)| name).collect::<Vec<_>>(), ["a__ask", "ask", "b__ask"]);
    let error = Catalog::new(vec![plugin("a", false), plugin("b", false)], vec![]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("both offer a prompt as `ask`"), "{error}");
}

#[test]
fn names_of_the_hosts_own_tools_are_taken() {
    use crate::registry::offer::testing::tool;
    let made = Made::new();
    let plugin = |prefix| made.plugin("a", prefix, "", Offer { tools: vec![tool("steer_call")], ..Offer::default() });
    let catalog = Catalog::beside(vec![plugin(true)], vec![], &["steer_call"]).unwrap();
    for beside in [catalog.with(&[plugin(false)]), Catalog::beside(vec![plugin(false)], vec![], &["steer_call"])] {
        let error = beside.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("[plugins.a]") && error.contains("`steer_call`"), "{error}");
    }
    assert!(Catalog::new(vec![plugin(false)], vec![]).is_ok());
}

#[test]
fn only_what_differs_is_told() {
    let made = Made::new();
    let version = |code: &str, resources: &[&str], prompts: &[&str]| {
        made.plugin("a", true, code, offers(resources, &["t:{x}"], prompts))
    };
    let changes = Changes::new();
    let first = Catalog::new(vec![version("1", &["n:1"], &["ask"])], vec![]).unwrap();
    let current = CurrentCatalog::new(first, changes.clone());
    let before = current.now();
    let mut told = changes.subscribe();
    let mut swap = |plugin: Arc<Plugin>| {
        current.swap(current.now().with(&[plugin]).unwrap());
        std::iter::from_fn(|| told.try_recv().ok()).collect::<Vec<_>>()
    };
    let updated = |uri: &str| Change::Resource(None, uri.to_owned());
    assert_eq!(swap(version("1", &["n:1"], &["ask"])), []);
    assert_eq!(swap(version("2", &["n:1"], &["ask"])), [updated("n:1")]);
    assert_eq!(swap(version("3", &["n:1", "n:2"], &["ask"])), [Change::Resources(None), updated("n:1")]);
    assert_eq!(swap(version("3", &["n:1", "n:2"], &["tell"])), [Change::Prompts(None)]);
    assert!(before.reader("n:2").is_none(), "who holds a catalog keeps what it was");
}

#[test]
fn no_name_can_be_taken_for_another_plugins() {
    let made = Made::new();
    let tools = |names: &[&str]| {
        let tools = names.iter().map(|name| crate::registry::offer::testing::tool(name)).collect();
        Offer { tools, ..Offer::default() }
    };
    let plugin = |name: &str, prefix, names: &[&str]| made.plugin(name, prefix, "", tools(names));
    let together = |a, b| Catalog::new(vec![a, b], vec![]).map(|_| ());
    for lookalike in ["read_fi1e", "Read_File", "read-file", "READ_FILE", "read_fiIe"] {
        let error =
            together(plugin("a", false, &["read_file"]), plugin("b", false, &[lookalike])).unwrap_err().to_string();
        assert!(
            ["plugins.a", "plugins.b", "`read_file`", lookalike].iter().all(|word| error.contains(word)),
            "{error}"
        );
        assert_eq!(together(plugin("a", true, &["read_file"]), plugin("b", true, &[lookalike])), Ok(()));
    }
    assert_eq!(together(plugin("a", false, &["get_1", "get_l"]), plugin("b", false, &["x"])), Ok(()), "its own");
    let error = Catalog::new(vec![plugin("a", false, &["portcu11is_update"])], vec![]).map(|_| ()).unwrap_err();
    assert!(matches!(error, CatalogError::Host { .. }));
    let reserved = Catalog::beside(vec![plugin("a", false, &["Steer-Call"])], vec![], &["steer_call"]).map(|_| ());
    assert!(matches!(reserved.unwrap_err(), CatalogError::Reserved { .. }));
    let mut noted = tools(&["note"]);
    noted.tools[0].description = "Run it and not read_file (or `note`).".into();
    let catalog =
        Catalog::new(vec![plugin("a", false, &["read_file"]), made.plugin("b", false, "", noted)], vec![]).unwrap();
    assert_eq!(
        catalog.mentions(),
        ["[plugins.b] the description of `note` speaks of `read_file`, a tool of [plugins.a]"]
    );
}
