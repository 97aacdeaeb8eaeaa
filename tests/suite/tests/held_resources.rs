//! What the host holds for a guest: every import is called again and again with the largest inputs it takes, and nothing is
//! given back. Memory, descriptors and threads of the host stay within the call's budget and a constant.

use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use suite::importer::Universe;
use suite::web::{Reply, Web};
use suite::{Client, Home, Server, plugin_from, portcullis, with_manifest};

/// What a call may take: `limits.memory`, and as much again of the host's.
const MEMORY: u64 = 128 << 20;
/// `limits.open-files`, and some for what the host does meanwhile.
const DESCRIPTORS: usize = 64 + 32;
/// tokio's own pool for blocking work grows by a few.
const THREADS: usize = 16;
/// Calls of each import. Each could keep a megabyte.
const ROUNDS: u32 = 1_024;

/// Handles that no guest gets here, and why. Whatever takes one fails before it is called.
const NEVER: [(&str, &str); 11] = [
    ("tcp-socket", "no socket is made for a guest"),
    ("udp-socket", "no socket is made for a guest"),
    ("incoming-datagram-stream", "it comes from a socket"),
    ("outgoing-datagram-stream", "it comes from a socket"),
    ("resolve-address-stream", "no name is looked up for a guest"),
    ("incoming-request", "nobody sends requests to a guest"),
    ("response-outparam", "nobody sends requests to a guest"),
    ("terminal-input", "standard input is no terminal"),
    ("terminal-output", "standard output is no terminal"),
    ("]session", "it needs the grant of state; `dialects/sessions` floods it"),
    ("future-elicit-result", "it comes from a session"),
];

#[test]
fn no_import_makes_the_host_hold_more_than_the_call_may() {
    // Breaks off its answers, so that guests get errors too.
    let web = Web::serve(|_| Reply::new(200, "broken off").cut());
    let (universe, home) = (Universe::new(web.address.port()), Home::new());
    let get = format!("GET http://{}/", web.address);
    let imports = universe.imports();
    let manifest = json!({"name": "flood", "version": "0.1.0", "requests": {"filesystem": "write", "http": [get]}});
    let files: Vec<String> = (0..imports.len())
        .map(|at| {
            let component = with_manifest(universe.flood(&imports[at], ROUNDS), &manifest);
            home.write(&format!("{at}.wasm"), component).display().to_string()
        })
        .collect();
    let arguments: Vec<&str> = ["check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let checked = portcullis(&home, &arguments);
    // Every import is one that can be linked, or one that the host says it does not have.
    let offered = |at: &usize| {
        let missing = format!("/{at}.wasm] it needs an import that this host does not offer");
        let is_offered = checked.stdout.contains(&format!("/{at}.wasm is a plugin"));
        assert!(is_offered != checked.stderr.contains(&missing), "{}: {}", imports[*at].name, checked.stderr);
        is_offered
    };
    let offered: Vec<usize> = (0..imports.len()).filter(offered).collect();
    let settings = format!(
        "limits.deadline = \"3s\"\nlimits.breaker.failures = 0\n\
        grants.filesystem = [{{ host = \"work\", guest = \"/work\", access = \"write\" }}]\n\
        grants.http = [{{ allow = \"{get}\", private = true, requests = 200 }}]"
    );
    let config: String =
        offered.iter().map(|at| plugin_from(&format!("p{at}"), files[*at].as_ref(), &settings)).collect();
    let mut client = Client::of_server(Server::measurable(home, &config, &[], |_| {}));
    let (mut wrong, mut most, mut unreachable) = (Vec::new(), (0, 0, 0), Vec::new());
    for at in &offered {
        let (memory, descriptors, threads) =
            (client.server.memory(), client.server.descriptors(), client.server.threads());
        client.server.forget_peak();
        let (done, peak) = (AtomicBool::new(false), [AtomicUsize::new(0), AtomicUsize::new(0)]);
        let process = client.server.id();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for (peak, folder) in peak.iter().zip(["fd", "task"]) {
                        let count = std::fs::read_dir(format!("/proc/{process}/{folder}")).map_or(0, Iterator::count);
                        peak.fetch_max(count, Ordering::Relaxed);
                    }
                    std::thread::park_timeout(Duration::from_millis(2));
                }
            });
            let called = client.call(&format!("p{at}__run"), json!({}));
            if called.is_error() && called.text().contains("unknown handle index 0") {
                unreachable.push(imports[*at].name.as_str());
            }
            done.store(true, Ordering::Relaxed);
        });
        let grown = (
            client.server.peak_memory().saturating_sub(memory),
            peak[0].load(Ordering::Relaxed).saturating_sub(descriptors),
            peak[1].load(Ordering::Relaxed).saturating_sub(threads),
        );
        most = (most.0.max(grown.0), most.1.max(grown.1), most.2.max(grown.2));
        if grown.0 > MEMORY || grown.1 > DESCRIPTORS || grown.2 > THREADS {
            wrong.push(format!(
                "{}: {} MiB, {} descriptors, {} threads",
                imports[*at].name,
                grown.0 >> 20,
                grown.1,
                grown.2
            ));
        }
    }
    assert!(wrong.is_empty(), "the host held too much for:\n{}", wrong.join("\n"));
    let (memory, descriptors, threads) = (most.0 >> 20, most.1, most.2);
    let of = |name: &str| NEVER.iter().position(|(resource, _)| name.contains(resource));
    let unexplained: Vec<_> = unreachable.iter().filter(|name| of(name).is_none()).collect();
    assert!(unexplained.is_empty(), "these take handles that the guest did not get: {unexplained:?}");
    for (number, (resource, why)) in NEVER.iter().enumerate() {
        let names: Vec<_> = unreachable.iter().filter(|name| of(name) == Some(number)).copied().collect();
        assert!(!names.is_empty(), "{resource} is a handle that a guest gets: {why} no longer");
        println!("not called: {why}: {}", names.join(", "));
    }
    let (number, without) = (offered.len() - unreachable.len(), unreachable.len());
    println!(
        "hostile: held: {memory} MiB, {descriptors} descriptors and {threads} threads at most, for {number} of {} imports; \
         {without} take handles that no guest gets; {} requests to a server",
        offered.len(),
        web.seen().len()
    );
    assert!(!web.seen().is_empty());
}
