//! What outlives the process, and how several processes share one store.

use super::*;
use futures::FutureExt as _;
use platform::durable::{Durability, DurableStore, Expected, Key, MemoryStore};

/// Processes that use one store, one after another or at once.
struct World {
    clock: Arc<ManualClock>,
    store: MemoryStore,
}

impl World {
    fn new() -> Self {
        let clock = Fixture::new().clock;
        Self { store: MemoryStore::new(clock.clone()), clock }
    }

    async fn process(&self) -> Fixture {
        self.process_with(|_| true).await
    }

    async fn process_with(&self, is_there: impl Fn(&DataKey) -> bool + Send + Sync + 'static) -> Fixture {
        let fixture = Fixture::with_clock(self.clock.clone());
        fixture.store.keep_in(Arc::new(self.store.clone()), is_there).await;
        fixture
    }

    fn records(&self) -> usize {
        now(self.store.list(&Key::new("published").unwrap(), None, 1_000)).unwrap().len()
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the store in memory answers at once")
}

fn events(fixture: &Fixture, uri: &str) -> Vec<Value> {
    fixture.json(&alice(), uri)["events"].as_array().unwrap().iter().map(|event| event["payload"].clone()).collect()
}

const PUBLISHED: &str = "portcullis://published/hr/a";

#[tokio::test]
async fn all_but_logs_of_runs_outlives_the_process() {
    let world = World::new();
    let one = world.process().await;
    let private = Provenance { knows: PrivateOrigins::from([policy::Origin::Client]), ..source("hr") };
    let attributes = ResourceAttributes {
        title: Some("A".into()),
        ttl: Some(Duration::from_secs(60)),
        ..ResourceAttributes::default()
    };
    let blob = ResourceBody::Blob(vec![0, 255]);
    let apart = one.store.put_resource(&alice(), private, "b", blob.clone(), attributes).unwrap();
    one.put(&alice(), "hr", "a", "one").unwrap();
    one.append(&alice(), "hr", "a", " two").unwrap();
    one.put(&alice(), "hr", "gone", "x").unwrap();
    one.store.put_prompt(&alice(), source("hr"), prompt("plan", &["where"], "Go to {{where}}")).unwrap();
    one.emit(&alice(), "hr", json!(1), Some("k")).unwrap();
    let log = one.store.begin_run(&alice(), Run { source: source("hr"), tool: "hr__t".into() }).unwrap();
    assert_eq!(world.records(), 0, "nothing waits for the store");
    one.store.save().await;
    one.store.remove_resource(&alice(), source("hr"), "gone").unwrap();
    one.store.save().await;
    assert_eq!(world.records(), 4);

    let two = world.process().await;
    assert_eq!(two.uris(&alice()), [INBOX.to_owned(), PUBLISHED.into(), apart.clone()]);
    assert_eq!(two.uris(&bob()), [INBOX]);
    let of = |fixture: &Fixture| {
        let mut listed = fixture.store.list_resources(&alice());
        listed.retain(|listed| listed.uri != log.uri());
        (listed, fixture.store.read(&alice(), &apart), fixture.store.list_prompts(&alice()))
    };
    assert_eq!(of(&one), of(&two));
    assert_eq!(two.store.read(&alice(), &apart).unwrap().body, blob);
    assert_eq!(two.text(&alice(), PUBLISHED).unwrap(), "one two");
    let filled = two.store.get_prompt(&alice(), "hr__plan", &given(&[("where", "Oslo")])).unwrap().unwrap();
    assert_eq!(filled.messages[0].1, "Go to Oslo");
    assert_eq!(one.json(&alice(), INBOX), two.json(&alice(), INBOX));
    assert_eq!(one.store.state.lock().usage.bytes, two.store.state.lock().usage.bytes);
}

#[tokio::test]
async fn what_is_over_is_not_there_again_and_leaves_the_store() {
    let world = World::new();
    let one = world.process().await;
    let short = ResourceAttributes { ttl: Some(Duration::from_secs(60)), ..ResourceAttributes::default() };
    let put = |path, attributes| {
        one.store.put_resource(&alice(), source("hr"), path, ResourceBody::Text("x".into()), attributes).unwrap()
    };
    let uri = put("short", short.clone());
    put("long", ResourceAttributes::default());
    one.emit(&alice(), "hr", json!(1), Some("k")).unwrap();
    one.store.save().await;
    let two = world.process().await;
    one.advance(Duration::from_secs(59));
    assert!(two.text(&alice(), &uri).is_some() && world.process().await.text(&alice(), &uri).is_some());
    one.advance(Duration::from_secs(1));
    // A process that knows nothing of it, and one that does.
    assert_eq!(world.process().await.text(&alice(), &uri), None);
    assert_eq!((world.records(), two.text(&alice(), &uri)), (2, None));
    put("short", short);
    one.store.save().await;
    two.store.save().await;
    assert_eq!(world.records(), 3, "its time is over in one process only");
    one.advance(MAX_AGE);
    two.uris(&alice());
    two.store.save().await;
    assert_eq!(world.records(), 1, "what another process has published since");
    one.uris(&alice());
    one.store.save().await;
    assert_eq!(world.records(), 0);
}

#[tokio::test]
async fn what_was_read_is_not_delivered_again_and_keys_are_remembered() {
    let world = World::new();
    let one = world.process().await;
    for payload in [1, 2, 3] {
        one.emit(&alice(), "hr", json!(payload), Some(&format!("k{payload}"))).unwrap();
    }
    let cursor = format!("{INBOX}?after=01234567-2");
    assert_eq!(events(&one, &cursor), [json!(3)]);
    one.store.save().await;
    let two = world.process().await;
    assert_eq!(events(&two, &cursor), [json!(3)]);
    assert!(!two.emit(&alice(), "hr", json!(3), Some("k3")).unwrap());
    assert!(two.emit(&alice(), "it", json!(3), Some("k3")).unwrap(), "another plugin's");
    assert!(two.emit(&bob(), "hr", json!(3), Some("k3")).unwrap(), "another principal's");
    assert_eq!(events(&two, &cursor), [json!(3), json!(3)]);
    two.advance(MAX_AGE - Duration::from_secs(1));
    assert!(!world.process().await.emit(&alice(), "hr", json!(3), Some("k3")).unwrap());
    two.advance(Duration::from_secs(1));
    assert!(world.process().await.emit(&alice(), "hr", json!(3), Some("k3")).unwrap());
}

#[tokio::test]
async fn two_processes_share_an_inbox() {
    let world = World::new();
    let (one, two) = ((world.process().await, "1111"), (world.process().await, "2222"));
    let emit = |(process, call): &(Fixture, &str), payload: &str, key: Option<&str>| {
        let source = Provenance { call: (*call).into(), ..source("hr") };
        let event = PluginEvent { name: "a.b".into(), payload: payload.into(), dedupe_key: key.map(str::to_owned) };
        process.store.emit(&alice(), source, event).unwrap()
    };
    assert!(emit(&one, "1", None) && emit(&one, "2", Some("k")));
    assert!(emit(&two, "2", Some("k")) && emit(&two, "3", None));
    one.0.store.save().await;
    two.0.store.save().await;
    assert_eq!(events(&two.0, INBOX), [json!(1), json!(2), json!(3)], "what has the same key is there once");
    assert_eq!(events(&two.0, &format!("{INBOX}?after=1111-2")).len(), 3, "the third of one is not the third of both");
    assert!(emit(&one, "4", None) && !emit(&one, "2", Some("k")));
    one.0.store.save().await;
    let all = [json!(1), json!(2), json!(3), json!(4)];
    assert_eq!(events(&one.0, INBOX), all, "what was stored is there once");
    let third = world.process().await;
    assert_eq!(events(&third, INBOX), all);
    let next = one.0.json(&alice(), INBOX)["next"].clone();
    assert_eq!(events(&third, &format!("{INBOX}?after={}", next.as_str().unwrap())), [] as [Value; 0]);
    assert!(!emit(&two, "2", Some("k")));
}

/// The answer of the store to the first change is lost.
#[tokio::test]
async fn what_is_stored_without_this_process_knowing_is_there_once() {
    let world = World::new();
    let (one, two) = (world.process().await, world.process().await);
    for process in [&one, &two] {
        process.emit(&alice(), "hr", json!(1), None).unwrap();
    }
    one.store.save().await;
    two.store.save().await;
    assert_eq!((events(&two, INBOX), two.json(&alice(), INBOX)["next"].clone()), (vec![json!(1)], json!("01234567-1")));
}

#[tokio::test]
async fn the_last_who_writes_is_right_and_nothing_that_was_removed_is_there_again() {
    let world = World::new();
    let one = world.process().await;
    one.put(&alice(), "hr", "a", "1").unwrap();
    one.store.save().await;
    let two = world.process().await;
    one.put(&alice(), "hr", "a", "2").unwrap();
    two.append(&alice(), "hr", "a", "+").unwrap();
    one.store.save().await;
    two.store.save().await;
    assert_eq!(world.process().await.text(&alice(), PUBLISHED).unwrap(), "1+");

    one.store.remove_resource(&alice(), source("hr"), "a").unwrap();
    two.append(&alice(), "hr", "a", "+").unwrap();
    one.store.save().await;
    two.store.save().await;
    assert_eq!((two.text(&alice(), PUBLISHED), world.records()), (None, 0));
    two.put(&alice(), "hr", "a", "3").unwrap();
    two.store.save().await;
    assert_eq!(world.process().await.text(&alice(), PUBLISHED).unwrap(), "3");
    one.put(&alice(), "hr", "b", "other").unwrap();
    one.store.save().await;
    assert_eq!(world.process().await.text(&alice(), PUBLISHED).unwrap(), "3", "each item is stored by itself");
}

#[tokio::test]
async fn while_the_store_is_full_everything_goes_on_in_memory() {
    let world = World::new();
    let one = world.process().await;
    world.store.set_full(true);
    one.put(&alice(), "hr", "a", "1").unwrap();
    one.emit(&alice(), "hr", json!(1), None).unwrap();
    assert!(one.store.try_save().await.is_err());
    one.append(&alice(), "hr", "a", "2").unwrap();
    assert_eq!(one.text(&alice(), PUBLISHED).unwrap(), "12");
    world.store.set_full(false);
    one.store.save().await;
    let two = world.process().await;
    assert_eq!((two.text(&alice(), PUBLISHED).unwrap(), events(&two, INBOX)), ("12".into(), vec![json!(1)]));
}

#[tokio::test]
async fn what_cannot_be_read_keeps_nothing_else_away() {
    let world = World::new();
    let one = world.process().await;
    one.put(&alice(), "hr", "a", "1").unwrap();
    one.store.save().await;
    let all = Key::new("published").unwrap();
    let (_, good) = now(world.store.list(&all, None, 1)).unwrap().remove(0);
    let newer = String::from_utf8(good.value.clone()).unwrap().replace("\"format\":1", "\"format\":2").into_bytes();
    let deep = [b'['; 100_000].to_vec();
    let late =
        String::from_utf8(good.value.clone()).unwrap().replace("\"modified\":1", "\"modified\":9999999").into_bytes();
    for (at, value) in [vec![], b"{}".to_vec(), vec![255], deep, newer, late, good.value].into_iter().enumerate() {
        let key = Key::new(format!("published/0/{at}")).unwrap();
        now(world.store.put(&key, value, Expected::Any, Durability::Process)).unwrap();
    }
    let two = world.process().await;
    assert_eq!(two.uris(&alice()), [INBOX, PUBLISHED]);
    assert_eq!(world.records(), 8, "another version may be able to read them");
}

#[tokio::test]
async fn what_is_of_a_plugin_that_is_not_there_is_hidden_until_it_is() {
    let world = World::new();
    let one = world.process().await;
    for plugin in ["hr", "it"] {
        one.put(&alice(), plugin, "a", "1").unwrap();
        one.store.put_prompt(&alice(), source(plugin), prompt("plan", &[], "x")).unwrap();
        one.emit(&alice(), plugin, json!(plugin), Some("k")).unwrap();
    }
    one.store.save().await;
    let two = world.process_with(|data| data.as_str() == "plugins.it").await;
    assert_eq!(two.uris(&alice()), [INBOX, "portcullis://published/it/a"]);
    assert_eq!(two.store.list_prompts(&alice()).len(), 1);
    assert_eq!(events(&two, INBOX), [json!("it")]);
    two.emit(&alice(), "it", json!("new"), None).unwrap();
    two.store.save().await;
    let three = world.process().await;
    assert_eq!((three.uris(&alice()).len(), three.store.list_prompts(&alice()).len()), (3, 2));
    assert_eq!(events(&three, INBOX), [json!("hr"), json!("it"), json!("new")]);
}

#[tokio::test]
async fn quotas_hold_for_what_is_read() {
    let world = World::new();
    let (one, two) = (world.process().await, world.process().await);
    let large = "x".repeat(1_000_000);
    for at in 0..2 {
        one.put(&alice(), "hr", &format!("one/{at}"), &large).unwrap();
        two.put(&alice(), "hr", &format!("two/{at}"), &large).unwrap();
    }
    one.store.save().await;
    two.store.save().await;
    assert_eq!(world.records(), 4);
    let three = world.process().await;
    assert_eq!(three.uris(&alice()).len(), 3, "what one plugin may publish");
    assert!(three.put(&alice(), "hr", "more", &large).is_err());
    assert!(three.put(&alice(), "it", "more", &large).is_ok());
}

#[tokio::test]
async fn prompts_that_clients_take_for_one_another_are_not_both_there() {
    let world = World::new();
    let (one, two) = (world.process().await, world.process().await);
    one.store.put_prompt(&alice(), source("hr"), prompt("plan", &[], "x")).unwrap();
    two.store.put_prompt(&alice(), source("hr"), prompt("Plan", &[], "x")).unwrap();
    assert!(one.store.put_prompt(&alice(), source("hr"), prompt("Plan", &[], "x")).is_err());
    one.store.save().await;
    two.store.save().await;
    let three = world.process().await;
    assert_eq!((world.records(), three.store.list_prompts(&alice()).len()), (2, 1));
}
