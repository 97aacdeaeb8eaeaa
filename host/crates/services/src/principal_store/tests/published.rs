//! Published resources and prompts: owners, quotas, expiry.

use super::super::quota::{MAX_ITEM, MAX_OWNER, MAX_PLUGIN, MAX_TOTAL};
use super::*;

#[test]
fn resources_are_put_read_replaced_appended_and_removed() {
    let mut fixture = Fixture::new();
    let uri = fixture.put(&alice(), "notes", "a/b.txt", "one").unwrap();
    assert_eq!(uri, "portcullis://published/notes/a/b.txt");
    let owner = || Some(alice());
    assert_eq!(fixture.changes(), [Change::Resources(ListPart::Own(alice())), Change::Resource(owner(), uri.clone())]);
    fixture.put(&alice(), "notes", "a/b.txt", "two").unwrap();
    assert_eq!(fixture.append(&alice(), "notes", "a/b.txt", " three"), Ok(uri.clone()));
    assert_eq!(fixture.changes(), vec![Change::Resource(owner(), uri.clone()); 2], "the list is the same");
    let read = fixture.store.read(&alice(), &uri).unwrap();
    assert_eq!((read.body, read.source), (ResourceBody::Text("two three".into()), Some(source("notes"))));
    let bytes = fixture.store.append_resource(&alice(), source("notes"), "a/b.txt", ResourceBody::Blob(vec![1]));
    assert!(matches!(bytes, Err(PublishError::Invalid(_))), "{bytes:?}");
    let listed = fixture.store.list_resources(&alice());
    assert_eq!((listed[1].uri.as_str(), listed[1].size), (uri.as_str(), Some(9)));
    assert_eq!(listed[1].annotations.last_modified.as_deref(), Some("2026-09-21T14:13:20.000Z"));
    fixture.store.remove_resource(&alice(), source("notes"), "a/b.txt").unwrap();
    assert_eq!(fixture.changes(), [Change::Resources(ListPart::Own(alice())), Change::Resource(owner(), uri.clone())]);
    assert_eq!(fixture.store.read(&alice(), &uri), None);
    assert_eq!(fixture.store.remove_resource(&alice(), source("notes"), "a/b.txt"), Err(PublishError::NotFound));
    fixture.assert_empty();
}

#[test]
fn principals_do_not_see_each_others_data() {
    let fixture = Fixture::new();
    let uri = fixture.put(&alice(), "notes", "mine", "secret").unwrap();
    fixture.store.put_prompt(&alice(), source("notes"), prompt("plan", &[], "secret")).unwrap();
    fixture.emit(&alice(), "notes", json!("secret"), Some("k")).unwrap();
    let log = fixture.store.begin_run(&alice(), Run { source: source("notes"), tool: "notes__add".into() }).unwrap();
    log.append(0, "[]".into(), vec![]);
    for uri in [&uri, log.uri(), "portcullis://published/notes/nothing", "portcullis://runs/0", "other://x"] {
        assert_eq!(fixture.store.read(&bob(), uri), None, "{uri}");
    }
    assert_eq!(fixture.uris(&bob()), [INBOX]);
    assert_eq!(fixture.json(&bob(), INBOX), json!({"events": [], "next": null, "dropped": 0}));
    assert_eq!(
        (fixture.store.list_prompts(&bob()), fixture.store.get_prompt(&bob(), "notes__plan", &given(&[]))),
        (vec![], None)
    );
    // Another plugin, and the same plugin for somebody else, have names of their own.
    fixture.put(&alice(), "agent.notes", "mine", "other").unwrap();
    fixture.put(&bob(), "notes", "mine", "bob's").unwrap();
    assert_eq!(fixture.emit(&bob(), "notes", json!(1), Some("k")), Ok(true));
    assert_eq!(fixture.emit(&alice(), "other", json!(1), Some("k")), Ok(true));
    assert_eq!(fixture.text(&alice(), &uri).unwrap(), "secret");
    assert_eq!(fixture.text(&bob(), &uri).unwrap(), "bob's");
    assert_eq!(fixture.store.remove_resource(&alice(), source("other"), "mine"), Err(PublishError::NotFound));
}

#[test]
fn unchanged_data_expires() {
    let mut fixture = Fixture::new();
    let ttl = |secs| ResourceAttributes { ttl: Some(Duration::from_secs(secs)), ..ResourceAttributes::default() };
    let put = |path: &str, secs| {
        let body = ResourceBody::Text("x".into());
        fixture.store.put_resource(&alice(), source("p"), path, body, ttl(secs)).unwrap();
    };
    put("short", 10);
    put("kept", 10);
    put("greedy", u64::MAX / 2);
    fixture
        .store
        .put_prompt(&alice(), source("p"), PublishedPrompt { ttl: ttl(10).ttl, ..prompt("x", &[], "x") })
        .unwrap();
    fixture.advance(Duration::from_secs(9));
    fixture.append(&alice(), "p", "kept", "y").unwrap();
    fixture.advance(Duration::from_secs(1));
    fixture.changes();
    let left = ["portcullis://published/p/greedy", "portcullis://published/p/kept"];
    assert_eq!(fixture.uris(&alice()), [&[INBOX][..], &left[..]].concat());
    assert!(fixture.store.list_prompts(&alice()).is_empty());
    let gone = "portcullis://published/p/short".to_owned();
    let own = ListPart::Own(alice());
    let expected = [Change::Resource(Some(alice()), gone), Change::Resources(own.clone()), Change::Prompts(own)];
    assert_eq!(fixture.changes(), expected);
    // The data of an absent principal is swept when another one is active.
    fixture.assert_empty();
    assert!(fixture.changes().contains(&Change::Resources(ListPart::Own(alice()))));
}

#[test]
fn quotas_bound_plugins_and_principals() {
    let fixture = Fixture::new();
    let kib = |n: u64| "x".repeat(usize::try_from(n).unwrap() << 10);
    assert_eq!(fixture.put(&alice(), "p", "big", &kib(1025)), Err(PublishError::Exhausted(full(MAX_ITEM))));
    fixture.put(&alice(), "p", "a", &kib(1000)).unwrap();
    fixture.put(&alice(), "p", "b", &kib(1000)).unwrap();
    assert_eq!(fixture.put(&alice(), "p", "c", &kib(100)), Err(PublishError::Exhausted(full(MAX_PLUGIN.bytes))));
    assert_eq!(fixture.append(&alice(), "p", "a", &kib(100)), Err(PublishError::Exhausted(full(MAX_ITEM))));
    fixture.put(&alice(), "p", "a", &kib(1)).unwrap();
    fixture.put(&alice(), "p", "c", &kib(100)).unwrap();
    for at in 3..128 {
        fixture.put(&alice(), "p", &format!("{at}"), "").unwrap();
    }
    assert_eq!(fixture.put(&alice(), "p", "more", ""), Err(PublishError::Exhausted(full(MAX_PLUGIN.items))));
    assert!(matches!(
        fixture.store.put_prompt(&alice(), source("p"), prompt("x", &[], "x")),
        Err(PublishError::Exhausted(_))
    ));
    // Other plugins have shares of their own, until the principal's is used up.
    for plugin in ["q", "r", "s"] {
        fixture.refill_rates();
        for at in 0..128 {
            fixture.put(&alice(), plugin, &format!("{at}"), "").unwrap();
        }
    }
    assert_eq!(fixture.put(&alice(), "t", "x", ""), Err(PublishError::Exhausted(full(MAX_OWNER.items))));
    fixture.put(&bob(), "p", "x", &kib(1)).unwrap();
    fixture.assert_empty();
}

#[test]
fn the_total_is_bounded_and_expiry_frees_it() {
    let fixture = Fixture::new();
    let large = "x".repeat(1_000 << 10);
    let principal = |at: u32| Principal::from_source("key", &at.to_string());
    let mut put = 0;
    let refused = loop {
        match fixture.put(&principal(put / 2), "p", &format!("{}", put % 2), &large) {
            Ok(_) => put += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, PublishError::Exhausted(full(MAX_TOTAL.bytes)));
    assert_eq!(put, 131, "128 MiB in pieces of 1,000 KiB");
    // An owner who has nothing gets room from the owner with the most, but nobody gives up the last of two items.
    let there = || (0..66).map(|at| fixture.uris(&principal(at)).len() - 1).collect::<Vec<_>>();
    assert!(fixture.uris(&bob()) == [INBOX] && there().iter().sum::<usize>() == 131, "who only reads takes no room");
    fixture.put(&bob(), "p", "x", &large).unwrap();
    assert_eq!((there().iter().sum::<usize>(), there().iter().min()), (130, Some(&1)));
    assert!(fixture.put(&bob(), "p", "y", &large).is_err(), "nobody has more than he would have");
    fixture.advance(MAX_AGE);
    fixture.put(&bob(), "p", "x", &large).unwrap();
    fixture.assert_empty();
}

#[test]
fn changes_are_rate_limited() {
    let fixture = Fixture::new();
    let refused = (0..).find_map(|_| fixture.put(&alice(), "p", "x", "").err()).unwrap();
    assert_eq!(refused, PublishError::Exhausted(full(1_200)));
    // Taking everything back, and even being forgotten, gives no fresh start.
    assert!(fixture.store.remove_resource(&alice(), source("p"), "x").is_err());
    fixture.put(&alice(), "q", "x", "").unwrap();
    fixture.refill_rates();
    for _ in 0..200 {
        fixture.put(&alice(), "p", "x", "").unwrap();
    }
    assert!(fixture.put(&alice(), "p", "x", "").is_err());
}

#[test]
fn prompt_arguments_are_inserted_once_and_within_limits() {
    let mut fixture = Fixture::new();
    let text = "Go to {{where}} in {{when}}{{when}}; {{ where }}, {{other}} {{{where}}}";
    fixture.store.put_prompt(&alice(), source("trip"), prompt("plan", &["where", "when"], text)).unwrap();
    assert_eq!(fixture.changes(), [Change::Prompts(ListPart::Own(alice()))]);
    let listed = fixture.store.list_prompts(&alice());
    assert_eq!(
        (listed[0].name.as_str(), &listed[0].arguments[..]),
        ("trip__plan", &["where".into(), "when".into()][..])
    );
    let fill = |arguments| fixture.store.get_prompt(&alice(), "trip__plan", &given(arguments)).unwrap();
    let filled = fill(&[("where", "{{when}}"), ("when", "May"), ("other", "x")]).unwrap();
    assert_eq!(filled.messages[0].1, "Go to {{when}} in MayMay; {{ where }}, {{other}} {{{when}}}");
    assert_eq!(fill(&[("where", "x")]), Err(FillError::Missing("when".into())));
    let large = "x".repeat(600 << 10);
    assert_eq!(fill(&[("where", "x"), ("when", &large)]), Err(FillError::TooLarge(1 << 20)));
    // A text of braces only is still filled quickly.
    let braces = "{".repeat(900 << 10);
    fixture.store.put_prompt(&alice(), source("trip"), prompt("braces", &["a"], &braces)).unwrap();
    let filled = fixture.store.get_prompt(&alice(), "trip__braces", &given(&[("a", "x")])).unwrap().unwrap();
    assert_eq!(filled.messages[0].1, braces);
}

#[test]
fn clients_take_no_prompt_for_another() {
    let fixture = Fixture::new();
    let put = |plugin: &str, name: &str| fixture.store.put_prompt(&alice(), source(plugin), prompt(name, &[], "x"));
    put("notes", "plan").unwrap();
    put("notes", "plan").unwrap();
    for name in ["Plan", "plan-", "_plan", &"x".repeat(64)] {
        assert!(matches!(put("notes", name), Err(PublishError::Invalid(_))), "{name}");
    }
    put("notes", &"x".repeat(57)).unwrap();
    assert!(put("notes", &"x".repeat(50)).is_err(), "some clients cut both");
    put("notes", "p1an").unwrap();
    assert!(put("n0tes", "plan").is_err(), "it looks like that of another plugin");
    fixture.store.put_prompt(&bob(), source("notes"), prompt("Plan", &[], "x")).unwrap();
}

#[test]
fn a_plugin_cannot_replace_the_prompt_of_another() {
    let fixture = Fixture::new();
    fixture.store.put_prompt(&alice(), source("a"), prompt("_b", &[], "mine")).unwrap();
    let taken = fixture.store.put_prompt(&alice(), source("a_"), prompt("b", &[], "yours"));
    assert!(matches!(taken, Err(PublishError::Invalid(_))), "{taken:?}");
    assert_eq!(fixture.store.remove_prompt(&alice(), source("a_"), "b"), Err(PublishError::NotFound));
    fixture.store.remove_prompt(&alice(), source("a"), "_b").unwrap();
    fixture.assert_empty();
}

/// What calls that have seen private results leave behind changes no answer to other calls.
#[test]
fn what_private_calls_leave_is_kept_apart() {
    let fixture = Fixture::new();
    let (store, alice, plain) = (&fixture.store, alice(), source("p"));
    let private = Provenance { knows: [policy::Origin::Client].into(), ..plain.clone() };
    let put = |source: &Provenance, path: &str, size: usize| {
        let body = ResourceBody::Blob(vec![0; size]);
        store.put_resource(&alice, source.clone(), path, body, ResourceAttributes::default())
    };
    assert_eq!(put(&private, "r", 1).unwrap(), "portcullis://published/p/~client/r");
    assert_eq!(store.remove_resource(&alice, plain.clone(), "r"), Err(PublishError::NotFound));
    assert_eq!(put(&plain, "r", 1).unwrap(), "portcullis://published/p/r");
    store.remove_resource(&alice, private.clone(), "r").unwrap();
    assert_eq!(store.list_resources(&alice).iter().filter(|it| it.uri.ends_with("/r")).count(), 1);
    // The quota of one is not that of the other, but the private one counts both.
    for path in ["a", "b"] {
        put(&private, path, 900 << 10).unwrap();
    }
    put(&plain, "a", 900 << 10).unwrap();
    assert!(put(&private, "c", 900 << 10).is_err() && put(&plain, "b", 900 << 10).is_ok());
    // Neither rates nor duplicates are shared.
    let emit = |source: &Provenance, key: &str| {
        let event = PluginEvent { name: "a.b".into(), payload: "{}".into(), dedupe_key: Some(key.into()) };
        store.emit(&alice, source.clone(), event)
    };
    assert_eq!((emit(&private, "k"), emit(&plain, "k"), emit(&private, "k")), (Ok(true), Ok(true), Ok(false)));
    (0..29).for_each(|at| assert_eq!(emit(&private, &format!("{at}")), Ok(true)));
    assert!(emit(&private, "more").is_err());
    assert_eq!((emit(&plain, "29"), emit(&private, "29")), (Ok(true), Ok(false)));
}
