//! Calls that have used files and sent requests before they asked, and whose host is killed then.

use super::{able, retry, send, yes};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Called, Client, Era, Home, PATIENCE, Server, eventually, paths, plugin_from, with_manifest};

/// A web server, and a host whose guest `errand` may use it and change the files in `work`.
struct World {
    web: Web,
    client: Client,
}

impl World {
    fn new(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let (web, home) = (Web::serve(answer), Home::new());
        let allow = format!("GET,POST,PUT http://127.0.0.1:{}", web.address.port());
        let requests = json!({"http": [allow], "filesystem": "write", "client": {"form": true}});
        let manifest = json!({"name": "errand", "version": "0.1.0", "requests": requests});
        let component = with_manifest(fs::read(paths::guest("errand")).unwrap(), &manifest);
        let source = home.write("errand.wasm", component);
        let grants = format!(
            "grants.client.form = true\ngrants.http = [{{ allow = \"{allow}\", private = true }}]\n\
             grants.filesystem = [{{ host = \"work\", guest = \"/work\", access = \"write\" }}]"
        );
        let server = Server::start_in(home, &plugin_from("errand", &source, &grants));
        let client = Client::able(server, Era::Modern, false, able());
        client.server.home.write("work/in", "as it was first");
        Self { web, client }
    }

    fn arguments(&self, errand: &str) -> Value {
        json!({"path": errand.replace("WEB", &self.web.url(""))})
    }

    /// Runs an errand up to its question, does something meanwhile, and answers, in another process if `killed`.
    fn run(&mut self, errand: &str, killed: bool, meanwhile: impl FnOnce(&Self)) -> Called {
        let arguments = self.arguments(errand);
        let asked = self.client.call("errand__run", arguments.clone());
        assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.result());
        meanwhile(self);
        if killed {
            self.client.server.restart_stdio();
        }
        let params = retry("errand__run", &arguments, &asked, yes(&asked, json!({"name": "Ada"})));
        Called(send(&mut self.client, &params))
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.client.server.home.work().join(name)).unwrap_or_else(|error| error.to_string())
    }
}

/// Says how often it was asked.
fn counting() -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    let asked = AtomicUsize::new(0);
    move |seen| match seen.path() {
        "/large" => Reply::new(200, vec![b'x'; 300_000]),
        _ => Reply::new(201, format!("{} {}", asked.fetch_add(1, Ordering::Relaxed), seen.body)),
    }
}

/// Everything that a call may do before it asks, and all of it again after that.
const ERRAND: &str = "read in
size in
list .
write out hello there
append log one;
folder made
folder gone
unfolder gone
write tmp half
move tmp final
new fresh
new fresh
resize out 5
write old x
remove old
remove old
read missing
post WEB/book a journey to Lisbon
get WEB/quote
put WEB/put this and that
ask
read in
read out
append log two;
list .
remove fresh
move final last
post WEB/book a journey back
get WEB/quote";

#[test]
fn what_a_killed_host_had_done_for_a_call_is_done_once() {
    let run = |killed| {
        let mut world = World::new(counting());
        let called = world.run(ERRAND, killed, |world| {
            world.client.server.home.write("work/in", "changed since");
        });
        let count = |path| world.web.count(path);
        let counts = [count("/book"), count("/quote"), count("/put")];
        let bodies: Vec<_> = world.web.seen().iter().map(|seen| seen.body.clone()).collect();
        (called.good(), counts, bodies, ["log", "out", "last", "tmp", "old"].map(|name| world.file(name)))
    };
    let whole = run(false);
    assert!(
        whole.0.contains("read: \"as it was first\"") && whole.0.contains("read: \"changed since\""),
        "{}",
        whole.0
    );
    assert!(
        whole.0.contains("post: 201 0 a journey to Lisbon") && whole.0.contains("put: 201 2 this and that"),
        "{}",
        whole.0
    );
    assert_eq!((whole.1, whole.3[0].as_str(), whole.3[1].as_str()), ([2, 2, 1], "one;two;", "hello"), "{}", whole.0);
    assert_eq!(run(true), whole);
}

#[test]
fn an_open_file_goes_on_where_it_was() {
    let mut world = World::new(counting());
    let errand = "open in\npiece in 4\nask\npiece in 4\npiece in 99\npiece in 4";
    let said = world.run(errand, true, |_| {}).good();
    assert!(said.contains("piece: as i\n") && said.contains("piece: t wa\n") && said.ends_with("piece: "), "{said}");
    let errand = "write log \nopen log append\nadd log one;\nask\nadd log two;";
    world.run(errand, true, |_| {}).good();
    assert_eq!(world.file("log"), "one;two;");
}

/// It ends only when the guest needs more of it than is recorded.
#[test]
fn an_open_file_that_is_gone_ends_the_call_when_it_is_needed() {
    let mut world = World::new(counting());
    let remove = |world: &World| fs::remove_file(world.client.server.home.work().join("in")).unwrap();
    let said = world.run("open in\npiece in 4\nask\nlist .", true, remove).good();
    assert!(said.contains("piece: as i\n") && said.ends_with(" sub"), "{said}");
    world.client.server.home.write("work/in", "as it was first");
    let called = world.run("open in\npiece in 4\nask\npiece in 4", true, remove);
    assert!(called.is_error() && called.text().contains("a file that cannot be opened any more"), "{}", called.text());
}

#[test]
fn a_large_answer_breaks_off_behind_what_was_read() {
    let mut world = World::new(counting());
    let errand = "begin WEB/large\nmore 1000\nask\nmore 1000";
    let said = world.run(errand, true, |_| {}).good();
    assert!(said.contains("more: 1000\n") && said.contains("more: failed: after 0"), "{said}");
    let said = world.run(errand, false, |_| {}).good();
    assert!(said.ends_with("more: 1000"), "{said}");
    assert_eq!(world.web.count("/large"), 2);
}

/// A request is on its way when the host is killed.
#[test]
fn an_unanswered_request_is_sent_again_only_if_that_is_safe() {
    for (method, again) in [("GET", true), ("POST", false)] {
        let asked = AtomicUsize::new(0);
        let mut world = World::new(move |_| {
            if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_secs(2));
            }
            Reply::new(200, "here")
        });
        let called = world.run(&format!("send {method} WEB/slow\nask\nsent"), true, |world| {
            eventually(PATIENCE, || (world.web.count("/slow") == 1).then_some(())).unwrap();
        });
        assert_eq!(world.web.count("/slow"), if again { 2 } else { 1 }, "{method}");
        match again {
            true => assert!(called.good().ends_with("sent: 200 here"), "{}", called.text()),
            false => assert!(called.text().contains("it is unknown whether step"), "{}", called.text()),
        }
    }
}
