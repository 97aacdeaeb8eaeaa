//! Published resources and prompts: whose they are, their shares, their time.

use super::super::quota::{ALL, ITEM, OWNER, PLUGIN};
use super::*;

#[test]
fn what_is_put_can_be_read_replaced_added_to_and_removed() {
    let mut lab = Lab::new();
    let uri = lab.put(&alice(), "notes", "a/b.txt", "one").unwrap();
    assert_eq!(uri, "portcullis://published/notes/a/b.txt");
    let owner = || Some(alice());
    assert_eq!(lab.news(), [Change::Resources(owner()), Change::Resource(owner(), uri.clone())]);
    lab.put(&alice(), "notes", "a/b.txt", "two").unwrap();
    assert_eq!(lab.append(&alice(), "notes", "a/b.txt", " three"), Ok(uri.clone()));
    assert_eq!(lab.news(), vec![Change::Resource(owner(), uri.clone()); 2], "the list is the same");
    let read = lab.shelf.read(&alice(), &uri).unwrap();
    assert_eq!((read.body, read.source), (ResourceBody::Text("two three".into()), Some(source("notes"))));
    let bytes = lab.shelf.append_resource(&alice(), source("notes"), "a/b.txt", ResourceBody::Blob(vec![1]));
    assert!(matches!(bytes, Err(PublishError::Invalid(_))), "{bytes:?}");
    let listed = lab.shelf.list_resources(&alice());
    assert_eq!((listed[1].uri.as_str(), listed[1].size), (uri.as_str(), Some(9)));
    assert_eq!(listed[1].annotations.last_modified.as_deref(), Some("2026-09-21T14:13:20.000Z"));
    lab.shelf.remove_resource(&alice(), source("notes"), "a/b.txt").unwrap();
    assert_eq!(lab.news(), [Change::Resources(owner()), Change::Resource(owner(), uri.clone())]);
    assert_eq!(lab.shelf.read(&alice(), &uri), None);
    assert_eq!(lab.shelf.remove_resource(&alice(), source("notes"), "a/b.txt"), Err(PublishError::NotFound));
    lab.assert_empty();
}

#[test]
fn nothing_of_one_principal_is_there_for_another() {
    let lab = Lab::new();
    let uri = lab.put(&alice(), "notes", "mine", "secret").unwrap();
    lab.shelf.put_prompt(&alice(), source("notes"), prompt("plan", &[], "secret")).unwrap();
    lab.emit(&alice(), "notes", json!("secret"), Some("k")).unwrap();
    let log = lab.shelf.begin_run(&alice(), Run { source: source("notes"), tool: "notes__add".into() }).unwrap();
    log.append(0, "[]".into(), vec![]);
    for uri in [&uri, log.uri(), "portcullis://published/notes/nothing", "portcullis://runs/0", "other://x"] {
        assert_eq!(lab.shelf.read(&bob(), uri), None, "{uri}");
    }
    assert_eq!(lab.uris(&bob()), [INBOX]);
    assert_eq!(lab.json(&bob(), INBOX), json!({"events": [], "next": null, "dropped": 0}));
    assert_eq!(
        (lab.shelf.list_prompts(&bob()), lab.shelf.get_prompt(&bob(), "notes__plan", &given(&[]))),
        (vec![], None)
    );
    // Another plugin, and the same plugin for somebody else, have names of their own.
    lab.put(&alice(), "agent.notes", "mine", "other").unwrap();
    lab.put(&bob(), "notes", "mine", "bob's").unwrap();
    assert_eq!(lab.emit(&bob(), "notes", json!(1), Some("k")), Ok(true));
    assert_eq!(lab.emit(&alice(), "other", json!(1), Some("k")), Ok(true));
    assert_eq!(lab.text(&alice(), &uri).unwrap(), "secret");
    assert_eq!(lab.text(&bob(), &uri).unwrap(), "bob's");
    assert_eq!(lab.shelf.remove_resource(&alice(), source("other"), "mine"), Err(PublishError::NotFound));
}

#[test]
fn time_takes_away_what_is_not_changed() {
    let mut lab = Lab::new();
    let ttl = |secs| Attributes { ttl: Some(Duration::from_secs(secs)), ..Attributes::default() };
    let put = |path: &str, secs| {
        let body = ResourceBody::Text("x".into());
        lab.shelf.put_resource(&alice(), source("p"), path, body, ttl(secs)).unwrap();
    };
    put("short", 10);
    put("kept", 10);
    put("greedy", u64::MAX / 2);
    lab.shelf.put_prompt(&alice(), source("p"), PublishedPrompt { ttl: ttl(10).ttl, ..prompt("x", &[], "x") }).unwrap();
    lab.pass(Duration::from_secs(9));
    lab.append(&alice(), "p", "kept", "y").unwrap();
    lab.pass(Duration::from_secs(1));
    lab.news();
    let left = ["portcullis://published/p/greedy", "portcullis://published/p/kept"];
    assert_eq!(lab.uris(&alice()), [&[INBOX][..], &left[..]].concat());
    assert!(lab.shelf.list_prompts(&alice()).is_empty());
    let gone = "portcullis://published/p/short".to_owned();
    let owner = Some(alice());
    let expected = [Change::Resource(owner.clone(), gone), Change::Resources(owner.clone()), Change::Prompts(owner)];
    assert_eq!(lab.news(), expected);
    // Whoever never comes back is swept when somebody else comes.
    lab.assert_empty();
    assert!(lab.news().contains(&Change::Resources(Some(alice()))));
}

#[test]
fn shares_are_bounded() {
    let lab = Lab::new();
    let kib = |n: u64| "x".repeat(usize::try_from(n).unwrap() << 10);
    assert_eq!(lab.put(&alice(), "p", "big", &kib(1025)), Err(PublishError::Exhausted(full(ITEM))));
    lab.put(&alice(), "p", "a", &kib(1000)).unwrap();
    lab.put(&alice(), "p", "b", &kib(1000)).unwrap();
    assert_eq!(lab.put(&alice(), "p", "c", &kib(100)), Err(PublishError::Exhausted(full(PLUGIN.bytes))));
    assert_eq!(lab.append(&alice(), "p", "a", &kib(100)), Err(PublishError::Exhausted(full(ITEM))));
    lab.put(&alice(), "p", "a", &kib(1)).unwrap();
    lab.put(&alice(), "p", "c", &kib(100)).unwrap();
    for at in 3..128 {
        lab.put(&alice(), "p", &format!("{at}"), "").unwrap();
    }
    assert_eq!(lab.put(&alice(), "p", "more", ""), Err(PublishError::Exhausted(full(PLUGIN.items))));
    assert!(matches!(
        lab.shelf.put_prompt(&alice(), source("p"), prompt("x", &[], "x")),
        Err(PublishError::Exhausted(_))
    ));
    // Other plugins have shares of their own, until the principal's is used up.
    for plugin in ["q", "r", "s"] {
        lab.rest();
        for at in 0..128 {
            lab.put(&alice(), plugin, &format!("{at}"), "").unwrap();
        }
    }
    assert_eq!(lab.put(&alice(), "t", "x", ""), Err(PublishError::Exhausted(full(OWNER.items))));
    lab.put(&bob(), "p", "x", &kib(1)).unwrap();
    lab.assert_empty();
}

#[test]
fn many_principals_are_bounded_too_and_time_makes_room() {
    let lab = Lab::new();
    let large = "x".repeat(1_000 << 10);
    let principal = |at: u32| Principal::known("key", &at.to_string());
    let mut put = 0;
    let refused = loop {
        match lab.put(&principal(put / 2), "p", &format!("{}", put % 2), &large) {
            Ok(_) => put += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, PublishError::Exhausted(full(ALL.bytes)));
    assert_eq!(put, 131, "128 MiB in pieces of 1,000 KiB");
    lab.pass(STAY);
    lab.put(&bob(), "p", "x", &large).unwrap();
    lab.assert_empty();
}

#[test]
fn changes_are_not_too_many() {
    let lab = Lab::new();
    let refused = (0..).find_map(|_| lab.put(&alice(), "p", "x", "").err()).unwrap();
    assert_eq!(refused, PublishError::Exhausted(full(1_200)));
    // Taking everything back, and even being forgotten, gives no fresh start.
    assert!(lab.shelf.remove_resource(&alice(), source("p"), "x").is_err());
    lab.put(&alice(), "q", "x", "").unwrap();
    lab.rest();
    for _ in 0..200 {
        lab.put(&alice(), "p", "x", "").unwrap();
    }
    assert!(lab.put(&alice(), "p", "x", "").is_err());
}

#[test]
fn prompts_are_filled_once_and_within_bounds() {
    let mut lab = Lab::new();
    let text = "Go to {{where}} in {{when}}{{when}}; {{ where }}, {{other}} {{{where}}}";
    lab.shelf.put_prompt(&alice(), source("trip"), prompt("plan", &["where", "when"], text)).unwrap();
    assert_eq!(lab.news(), [Change::Prompts(Some(alice()))]);
    let listed = lab.shelf.list_prompts(&alice());
    assert_eq!(
        (listed[0].name.as_str(), &listed[0].arguments[..]),
        ("trip__plan", &["where".into(), "when".into()][..])
    );
    let fill = |arguments| lab.shelf.get_prompt(&alice(), "trip__plan", &given(arguments)).unwrap();
    let filled = fill(&[("where", "{{when}}"), ("when", "May"), ("other", "x")]).unwrap();
    assert_eq!(filled.messages[0].1, "Go to {{when}} in MayMay; {{ where }}, {{other}} {{{when}}}");
    assert_eq!(fill(&[("where", "x")]), Err(FillError::Missing("when".into())));
    let large = "x".repeat(600 << 10);
    assert_eq!(fill(&[("where", "x"), ("when", &large)]), Err(FillError::TooLarge(1 << 20)));
    // Braces only: still quick.
    let braces = "{".repeat(900 << 10);
    lab.shelf.put_prompt(&alice(), source("trip"), prompt("braces", &["a"], &braces)).unwrap();
    let filled = lab.shelf.get_prompt(&alice(), "trip__braces", &given(&[("a", "x")])).unwrap().unwrap();
    assert_eq!(filled.messages[0].1, braces);
}

#[test]
fn a_plugin_cannot_take_the_prompt_of_another() {
    let lab = Lab::new();
    lab.shelf.put_prompt(&alice(), source("a"), prompt("_b", &[], "mine")).unwrap();
    let taken = lab.shelf.put_prompt(&alice(), source("a_"), prompt("b", &[], "yours"));
    assert!(matches!(taken, Err(PublishError::Invalid(_))), "{taken:?}");
    assert_eq!(lab.shelf.remove_prompt(&alice(), source("a_"), "b"), Err(PublishError::NotFound));
    lab.shelf.remove_prompt(&alice(), source("a"), "_b").unwrap();
    lab.assert_empty();
}
