//! Little that becomes much: long lists of nothing, many header fields, long URLs, and a body of a gigabyte. The host holds
//! little of it, and the call ends with an error that says what was too much.

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use suite::web::{Reply, Web};
use suite::{Called, Client, Home, Server, forge, paths, plugin_from, portcullis, soak, with_manifest};

/// What the host may hold more while it refuses.
const GROWTH: u64 = 32 << 20;
const STRINGS: u32 = 4_000_000;
const FIELDS: usize = 40_000;
/// Little more than the memory of that many empty strings, which are pairs of zeros.
const MEMORY: &str = r#"(memory (export "memory") 600)"#;
const ROOM: &str = "limits.memory = \"64 MiB\"\nlimits.breaker.failures = 0";

/// A plugin that gives a list of empty strings to an import. The list of arguments of a prompt is lifted before anything
/// is checked.
fn strings_as_parameter() -> String {
    format!(
        r#"(import "portcullis:plugin/publish@0.1.0" "put-prompt" (func $put (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32)))
{MEMORY}
(func $run
  (call $put (i32.const 256) (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 65536) (i32.const {STRINGS}) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 2048)))"#
    )
}

/// A plugin that answers with a list of empty texts. They are of 128 bytes each, more than a call may have.
fn texts_as_answer() -> String {
    format!(
        r#"{MEMORY}
(func $run
  (i32.store (i32.const 1032) (i32.const 65536))
  (i32.store (i32.const 1036) (i32.const {})))"#,
        // As many as fit.
        (600 * 65_536 - 65_536) / 128
    )
}

/// A plugin whose tool has an icon with a list of empty sizes.
fn strings_as_definition() -> String {
    let length: String = STRINGS.to_le_bytes().map(|byte| format!("\\{byte:02x}")).concat();
    format!(
        r#"{MEMORY}
(data (i32.const 124) "\00\08\00\00\01\00\00\00")
(data (i32.const 2068) "\00\00\01\00{length}")
(func $run)"#
    )
}

#[test]
fn four_million_empty_strings_are_refused() {
    let home = Home::new();
    let parameter = home.write("parameter.wasm", forge::plugin(&strings_as_parameter()));
    let answer = home.write("answer.wasm", forge::plugin(&texts_as_answer()));
    let definition = home.write("definition.wasm", forge::plugin(&strings_as_definition()));
    let refused = portcullis(&home, &["check", &definition.display().to_string()]);
    assert!(refused.refused().contains("limits.hostcall"), "{}", refused.stderr);
    let more = format!("{ROOM}\nlimits.hostcall = \"128 MiB\"\nlimits.output = \"1 KiB\"");
    let config = plugin_from("parameter", &parameter, ROOM)
        + &plugin_from("answer", &answer, ROOM)
        + &plugin_from("generous", &parameter, &more);
    let mut client = Client::of_server(Server::measurable(home, &config, &[], |_| {}));
    let mut held = |plugin: &str| {
        client.run(plugin, json!({}));
        client.measured(|client| client.run(plugin, json!({})))
    };
    let mut most = 0;
    for plugin in ["parameter", "answer"] {
        let (called, grown) = held(plugin);
        assert_eq!(called.code(), "hostcall-exceeded", "{plugin}: {}", called.text());
        most = most.max(grown);
    }
    // An operator may allow it, and then it costs what was allowed.
    let (called, allowed) = held("generous");
    assert!(!called.is_error(), "{}", called.text());
    assert!((u64::from(STRINGS) * 16..144 << 20).contains(&allowed), "{} MiB", allowed >> 20);
    assert!(most <= GROWTH, "{} MiB", most >> 20);
    println!("hostile: empty strings: {} MiB at most for lists of {STRINGS}", most >> 20);
}

/// A host whose guest `fetcher` may send to this port of this machine.
fn fetcher(port: u16, body: &str) -> Client {
    let home = Home::new();
    let requests = json!({"http": [format!("GET,POST http://127.0.0.1:{port}")]});
    let manifest = json!({"name": "fetcher", "version": "0.1.0", "requests": requests});
    let component = with_manifest(std::fs::read(paths::guest("fetcher")).unwrap(), &manifest);
    let file = home.write("fetcher.wasm", component);
    let settings = format!(
        "limits.deadline = \"10m\"\nlimits.fuel = 1_000_000_000_000\nlimits.breaker.failures = 0\n\
         grants.http = [{{ allow = \"GET,POST http://127.0.0.1:{port}\", private = true, body = \"{body}\", timeout = \"5m\" }}]"
    );
    let server = Server::measurable(home, &plugin_from("fetcher", &file, &settings), &[], |_| {});
    let mut client = Client::of_server(server);
    // Loads its code.
    assert_eq!(send(&mut client, "nothing", 0).text(), "no scheme");
    client
}

fn send(client: &mut Client, request: &str, body: u64) -> Called {
    client.run("fetcher", json!({"path": request, "n": body}))
}

#[test]
fn forty_thousand_fields_are_refused_both_ways() {
    let web = Web::serve(|seen| match seen.path() {
        "/many" => (0..FIELDS).fold(Reply::new(200, ""), |reply, number| reply.with(&format!("x-{number}"), "y")),
        _ => Reply::new(200, "few"),
    });
    let mut client = fetcher(web.address.port(), "64 KiB");
    assert!(send(&mut client, &format!("GET {}", web.url("/few")), 0).good().ends_with("few"));
    let (called, held) = client.measured(|client| send(client, &format!("GET {}", web.url("/many")), 0));
    assert!(called.is_error() && called.text().contains("HttpResponseHeaderSectionSize"), "{}", called.text());
    let fields: String = (0..FIELDS).map(|number| format!("\nx-{number}: y")).collect();
    let sent = web.seen().len();
    let (called, built) = client.measured(|client| send(client, &format!("GET {}{fields}", web.url("/few")), 0));
    assert!(called.is_error() && called.text().contains("total size of fields exceeds limit"), "{}", called.text());
    assert_eq!(web.seen().len(), sent, "nothing was sent");
    let most = held.max(built);
    println!("hostile: fields: {} MiB at most for {FIELDS} of them, built or received", most >> 20);
    assert!(most <= GROWTH, "{} MiB", most >> 20);
}

#[test]
fn urls_beyond_8_kib_are_not_sent() {
    let web = Web::serve(|_| Reply::new(200, "here"));
    let mut client = fetcher(web.address.port(), "64 KiB");
    let mut ask = |length: usize| {
        let url = web.url("/");
        let (called, grown) =
            client.measured(|client| send(client, &format!("GET {url}{}", "x".repeat(length - url.len())), 0));
        assert!(grown <= GROWTH, "{} MiB", grown >> 20);
        called
    };
    assert!(ask(8 << 10).good().ends_with("here"), "the longest one that may be sent");
    for (length, why) in [
        ((8 << 10) + 1, "HttpRequestUriTooLong"),
        (16 << 10, "HttpRequestUriTooLong"),
        (1 << 20, "cannot even be made"),
    ] {
        let refused = ask(length);
        assert!(refused.is_error() && refused.text().contains(why), "{length}: {}", refused.text());
    }
    assert_eq!(web.seen().len(), 1);
}

/// Reads one request and counts the bytes of its body, which it does not keep. Answers once all have come. Without a length
/// it counts what comes until the end, with the lengths of the chunks.
fn count_body(stream: TcpStream) -> u64 {
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (u64::MAX, String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        let field = line.to_ascii_lowercase();
        length = field.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
        line.clear();
    }
    let counted = std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).unwrap_or_default();
    let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    counted
}

#[test]
fn a_gigabyte_is_streamed_or_refused() {
    let size: u64 = if soak::is_whole() { 1 << 30 } else { 32 << 20 };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut most = 0;
    // A grant that is large enough, and a small one, with and without saying how much will come.
    for (grant, says_length, at_most) in [("1 GiB", true, size), ("64 KiB", true, 0), ("64 KiB", false, 66 << 10)] {
        let length = if says_length { format!("\nContent-Length: {size}") } else { String::new() };
        let (mut client, listener) = (fetcher(port, grant), listener.try_clone().unwrap());
        let (called, counted, grown) = std::thread::scope(|scope| {
            let counting = scope.spawn(move || count_body(listener.accept().unwrap().0));
            let request = format!("POST http://127.0.0.1:{port}/{length}");
            let (called, grown) = client.measured(|client| send(client, &request, size));
            // If the host did not even connect, somebody else has to.
            drop(TcpStream::connect(("127.0.0.1", port)));
            (called, counting.join().unwrap(), grown)
        });
        most = grown.max(most);
        assert!(counted <= at_most, "{grant}: {counted} bytes arrived");
        match at_most == size {
            true => assert!(called.good().starts_with("200") && counted == size, "{counted}: {}", called.text()),
            false => assert!(called.text().contains("HttpRequestBodySize(Some(65536))"), "{}", called.text()),
        }
    }
    println!("hostile: bodies: {} MiB at most for one of {} MiB", most >> 20, size >> 20);
    assert!(most <= GROWTH, "{} MiB", most >> 20);
}

#[test]
fn requests_that_cannot_be_made_are_not_logged_one_by_one() {
    let mut client = fetcher(9, "64 KiB");
    let called = client.run("fetcher", json!({"path": "pathless http://127.0.0.1:9", "n": 5_000}));
    assert_eq!(called.good(), "5000 refused");
    assert!(client.server.end().success());
    let lines = client.server.log().lines().count();
    println!("hostile: unmade requests: {lines} lines of log for 5000");
    assert!(lines <= 300, "{lines} lines");
}
