//! Calls that have used files and sent requests before they asked, and whose host is killed then.

use super::{able, retry, send, yes};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Called, Client, Era, Home, PATIENCE, Server, eventually, paths, plugin_from, with_manifest};

const CANARY: &str = "canary-1f7e90c35d2a";

/// A web server, and a host whose guest `errand` may use it and change the files in `work`.
struct World {
    web: Web,
    client: Client,
}

impl World {
    fn new(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let (web, home) = (Web::serve(answer), Home::new());
        let allow = format!("GET,POST,PUT http://localhost:{}", web.address.port());
        let requests = json!({"http": [allow], "filesystem": "write", "client": {"form": true}, "secrets": ["key"]});
        let manifest = json!({"name": "errand", "version": "0.1.0", "requests": requests});
        let component = with_manifest(fs::read(paths::guest("errand")).unwrap(), &manifest);
        let source = home.write("errand.wasm", component);
        let grants = format!(
            "grants.client.form = true\ngrants.http = [{{ allow = \"{allow}\", private = true }}]\n\
             grants.secrets = [{{ name = \"key\", hosts = [\"localhost\"] }}]\n\
             grants.filesystem = [{{ host = \"work\", guest = \"/work\", access = \"write\" }}]"
        );
        home.write("key.secret", CANARY);
        let config = plugin_from("errand", &source, &grants) + "[secrets.key]\nfile = \"key.secret\"\n";
        let server = Server::start_in(home, &config);
        let client = Client::able(server, Era::Modern, false, able());
        client.server.home.write("work/in", "as it was first");
        Self { web, client }
    }

    fn arguments(&self, errand: &str) -> Value {
        json!({"path": errand.replace("WEB", &self.web.url("").replace("127.0.0.1", "localhost"))})
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

/// How often something is in the files below a folder, and in how many of them there is anything.
fn found(folder: &Path, text: &[u8]) -> (usize, usize) {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).fold((0, 0), |(times, files), path| {
        let (more, searched) = match path.is_dir() {
            true => found(&path, text),
            false => {
                let content = fs::read(&path).unwrap_or_default();
                (content.windows(text.len()).filter(|part| *part == text).count(), usize::from(!content.is_empty()))
            }
        };
        (times + more, files + searched)
    })
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
        let audit = world.client.server.home.path().join("state/audit");
        let posts = || found(&audit, b"POST http://localhost:").0;
        let called = world.run(ERRAND, killed, |world| {
            world.client.server.home.write("work/in", "changed since");
            // The audit is written in batches, of which a killed host loses the last.
            eventually(PATIENCE, || (posts() == 1).then_some(())).expect("the first request in the audit");
        });
        let count = |path| world.web.count(path);
        let all = eventually(PATIENCE, || (posts() >= 2).then_some(()));
        assert_eq!((all, posts()), (Some(()), 2), "each request is in the audit once, killed: {killed}");
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

/// The server says the secret again, and the call waits with that answer.
#[test]
fn no_secret_is_in_the_records() {
    let mut world = World::new(|seen| Reply::new(200, format!("you are {:?}", seen.header("authorization"))));
    let said = world.run("get WEB/ Authorization: Bearer {{secret:key}}\nask", true, |world| {
        assert!(world.web.seen()[0].everything().contains(CANARY));
        let state = world.client.server.home.path().join("state");
        let (times, files) = found(&state, CANARY.as_bytes());
        assert!(times == 0 && files > 1, "{times} times in {files} files");
        assert!(found(&state, b"http.handle").0 > 0, "the records are there");
    });
    assert!(said.good().contains("get: 200 you are"), "{}", said.text());
    assert_eq!(world.web.count("/"), 1);
}
