//! Requests that were under way when their host was killed: the plugin finds out what has become of them.

use super::{abilities, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Client, Era, Home, PATIENCE, Server, eventually, paths, plugin_from, with_manifest};

/// A place that is booked by a post. While the host lives that is killed, posts are not answered.
struct Place {
    booked: Mutex<Vec<String>>,
    is_silent: AtomicBool,
    /// Whether a post that is not answered books all the same.
    books: bool,
}

impl Place {
    fn serve(self: &Arc<Self>) -> Web {
        let place = self.clone();
        Web::serve(move |seen| place.answer(seen))
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let is_silent = self.is_silent.load(Ordering::SeqCst);
        if seen.method == "POST" {
            if self.books || !is_silent {
                self.booked.lock().unwrap().push(seen.path().to_owned());
            }
            if is_silent {
                std::thread::sleep(Duration::from_secs(20));
            }
            return Reply::new(201, "booked now");
        }
        match self.booked.lock().unwrap().iter().any(|path| path == seen.path()) {
            true => Reply::new(200, "it was booked"),
            false => Reply::new(404, "free"),
        }
    }
}

/// Books with this guest, and kills the host while the post is under way. Returns how the task ends, how often the place was
/// booked, and how often it was asked.
fn run(guest: &str, arguments: impl Fn(&str) -> Value, books: bool) -> (Value, usize, usize) {
    let (booked, is_silent) = (Mutex::default(), AtomicBool::new(true));
    let place = Arc::new(Place { booked, is_silent, books });
    let web = place.serve();
    let allow = format!("POST,GET http://127.0.0.1:{}", web.address.port());
    let manifest = json!({"name": "p", "version": "0.1.0", "requests": {"http": [allow]}});
    let home = Home::new();
    let source = home.write("p.wasm", with_manifest(fs::read(paths::guest(guest)).unwrap(), &manifest));
    let grants = format!("grants.http = [{{ allow = \"{allow}\", private = true }}]\nlimits.deadline = \"1m\"");
    let config = "[server.tasks]\ninline = \"0s\"\n\n".to_owned() + &plugin_from("p", &source, &grants);
    let server = Server::start_in(home, &config);
    let mut client = Client::able(server, Era::Modern, false, abilities());
    let params = json!({"name": "p__run", "arguments": arguments(&web.url("/ada"))});
    let created = client.request("tools/call", params);
    let task = created.result()["taskId"].as_str().unwrap_or_else(|| panic!("{}", created.result())).to_owned();
    let posted = || web.seen().iter().filter(|seen| seen.method == "POST").count();
    eventually(PATIENCE, || (posted() == 1).then_some(())).expect("it posts");
    place.is_silent.store(false, Ordering::SeqCst);
    client.server.restart_stdio();
    let ended = wait_for(&mut client, &task, |task| task["status"] != "working");
    // What was found out is in the journal, and not asked again.
    client.server.restart_stdio();
    let again = wait_for(&mut client, &task, |task| task["status"] != "working");
    assert_eq!(again["status"], ended["status"]);
    let asked = web.seen().iter().filter(|seen| seen.method == "GET").count();
    let booked = place.booked.lock().unwrap().len();
    (ended, booked, asked)
}

fn booker(n: u64) -> impl Fn(&str) -> Value {
    move |url| json!({"path": url, "n": n})
}

fn text(ended: &Value) -> &str {
    ended["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_booking_that_was_made_is_found() {
    let (ended, booked, asked) = run("booker", booker(0), true);
    assert_eq!((text(&ended), booked, asked), ("201 it was booked", 1, 1), "{ended}");
}

#[test]
fn a_booking_that_was_not_made_is_made_once() {
    let (ended, booked, asked) = run("booker", booker(0), false);
    assert_eq!((text(&ended), booked, asked), ("201 booked now", 1, 1), "{ended}");
}

#[test]
fn who_does_not_know_or_fails_leaves_it_unknown() {
    let errand = |url: &str| json!({"path": format!("post {url} Ada")});
    for books in [true, false] {
        let (ended, booked, asked) = run("errand", errand, books);
        assert!(ended.to_string().contains("it is unknown whether"), "{ended}");
        assert_eq!((booked, asked), (usize::from(books), 0));
    }
    // It does not know, traps, never ends, says nonsense.
    for n in 1..=4 {
        let (ended, booked, asked) = run("booker", booker(n), true);
        assert!(ended.to_string().contains("it is unknown whether"), "{n}: {ended}");
        assert_eq!((booked, asked), (1, 0), "{n}");
    }
}
