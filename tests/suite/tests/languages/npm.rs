//! Packages of npm in a plugin, and the global names and modules of Node that they and people expect: `tests/languages/npm`.

use super::templates::begin;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Called, Client, Home, Ran, Server, paths, plugin_from};

/// The other server, which plays that of OpenAI, too.
fn answer(seen: &Seen) -> Reply {
    let body = &seen.body;
    match seen.path() {
        "/slow" => {
            thread::sleep(Duration::from_secs(3));
            Reply::new(200, "late")
        }
        "/busy" => Reply::new(503, "busy"),
        "/long" => Reply::new(200, format!("{}grün", "x".repeat(1 << 20))),
        "/length" => Reply::new(200, seen.bytes.len().to_string()),
        "/v1/files" if body.contains("filename=\"a.json\"") => Reply::json(json!({"id": "file-1", "object": "file"})),
        "/v1/chat/completions" if body.contains("\"stream\":true") => {
            let part = |text: &str| json!({"id": "1", "choices": [{"index": 0, "delta": {"content": text}}]});
            let said = format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", part("Hel"), part("lo"));
            Reply::new(200, said).with("Content-Type", "text/event-stream")
        }
        "/v1/chat/completions" => {
            let asked: Value = serde_json::from_str(body).unwrap();
            let said = format!("You said {}.", asked["messages"][0]["content"].as_str().unwrap());
            Reply::json(
                json!({"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}),
            )
        }
        _ => Reply::json(json!({
            "method": seen.method, "target": seen.target, "type": seen.header("content-type"), "body": body,
        })),
    }
}

struct World {
    web: Web,
    client: Client,
}

impl World {
    /// The same plugin twice: `frugal` has no more fuel than a plugin has by default.
    fn new() -> Self {
        let (web, home) = (Web::serve(answer), Home::new());
        let allowed = format!("GET,POST http://localhost:{}/", web.address.port());
        let [from, source] = [paths::language("npm"), home.path().join("npm.wasm")];
        let requests = format!("requests.http=[{allowed:?}]");
        let words = [from.to_str().unwrap(), "--set", &requests, "--output", source.to_str().unwrap()];
        suite::portcullis(&home, &[&["plugin", "manifest"][..], &words].concat()).good();
        let grants =
            format!("limits.memory = \"128 MiB\"\ngrants.http = [{{ allow = {allowed:?}, private = true }}]\n");
        let config = plugin_from("npm", &source, &format!("limits.fuel = 10_000_000_000\n{grants}"))
            + &plugin_from("frugal", &source, &grants);
        // The port makes another component of it each time: what is compiled is not kept.
        let cache = home.path().join("cache");
        let server = Server::spawn(home, &config, &[], |command| {
            command.env("PORTCULLIS_CACHE", cache);
        });
        server.wait_until_loaded();
        Self { web, client: Client::of_server(server) }
    }

    fn server(&self) -> String {
        format!("http://localhost:{}", self.web.address.port())
    }

    fn run(&mut self, tool: &str, job: &str) -> Called {
        self.call(&format!("npm__{tool}"), job)
    }

    fn call(&mut self, tool: &str, job: &str) -> Called {
        let server = self.server();
        self.client.call(tool, json!({"job": job, "server": server}))
    }

    fn is(&mut self, tool: &str, job: &str, expected: Value) {
        assert_eq!(json_of(&self.run(tool, job)), expected, "{job}");
    }
}

fn json_of(called: &Called) -> Value {
    serde_json::from_str(&called.good()).unwrap()
}

#[test]
fn packages_of_npm_and_what_they_expect_work_in_a_component() {
    let mut world = World::new();
    let echo = |method: &str, target: &str, kind: Value, body: &str| json!({"method": method, "target": target, "type": kind, "body": body});
    let json_type = || json!("application/json");
    for (package, expected) in [
        (
            "axios",
            json!([
                echo("GET", "/echo?q=%C3%A4+b", Value::Null, ""),
                echo("POST", "/echo", json_type(), "{\"n\":1}"),
                "Request failed with status code 503",
            ]),
        ),
        ("cheerio", json!([["1", "Two"], "<ul><li class=\"a\">1</li><li>Two</li></ul>"])),
        ("csv-parse", json!([[{"a": "1", "b": "x, y"}], [["a", "b"], ["1", "x, y"]]])),
        (
            "ky",
            json!([
                echo("GET", "/echo?a=1", Value::Null, ""),
                echo("POST", "/echo", json_type(), "{\"b\":2}"),
                format!("Request failed with status code 503: GET {}/busy", world.server()),
            ]),
        ),
        (
            "luxon",
            json!(["Thursday 6 June 2030 07:08", "2030-06-06T09:08:09.000+02:00", "June 6, 2030 at 7:08 AM UTC",]),
        ),
        ("nanoid", json!([21, false])),
        ("openai", json!(["You said hi.", "Hello", "file-1"])),
        ("turndown", json!("Hi\n==\n\na **b** [c](x)")),
        ("uuid", json!([true, true, "e1407479-3136-56c0-9908-bb02fb0339e2"])),
        ("yaml", json!([{"a": [1, 2], "b": {"c": "d"}, "e": {"c": "d"}}, "a:\n  - 1\n  - b: c\n"])),
    ] {
        world.is("use", package, expected);
    }
    let late = "the other server did not answer in time";
    let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (name, expected) in [
        ("URL", json!(["https://xn--mnchen-3ya.de/x?a=%C3%A4#f", "a=%C3%A4+b"])),
        ("text", json!(["a", "€b", {"read": 1, "written": 2}, "\u{fffd}a\u{fffd}"])),
        ("fatal", json!("the bytes are not UTF-8")),
        ("crypto", json!([false, true, sha])),
        (
            "crypto elsewhere",
            json!(
                "crypto.subtle.generateKey is not in the sandbox; use a package such as @noble/ciphers or @noble/hashes"
            ),
        ),
        ("timers", json!([["micro", "tick", "tick"], true])),
        ("abort", json!([["aborted"], "TimeoutError", "This operation was aborted"])),
        (
            "abort at once",
            json!([true, "AbortError", "gone", "gone", "AbortSignal.timeout takes milliseconds, not Infinity"]),
        ),
        ("late", json!([late, late])),
        ("headers", json!([["a", "2"], ["b", "1, 3"], ["set-cookie", "c"], ["set-cookie", "d"]])),
        ("structuredClone", json!([true, true, "1970-01-01T00:00:00.000Z", true, 1, "1"])),
        ("base64", json!(["aGk=", "hi", "Z3LDvG4=", "--__", "_w", "1B2M2Y8AsgTpgAmY7PhCfg", true])),
        ("process", json!(["production", true, "/", true])),
        (
            "fetch",
            json!([
                "multipart/form-data",
                "--portcullis-form-0|Content-Disposition: form-data; name=\"a\"||ä|--portcullis-form-0|Content-Disposition: form-data; \
                 name=\"b\"; filename=\"b.csv\"|Content-Type: text/csv||x|--portcullis-form-0--|",
                "application/x-www-form-urlencoded;charset=UTF-8",
                "a=b+c",
            ]),
        ),
        ("Intl", json!(["1/1/1970", "1,234.5", ["a", "Ä", "b"]])),
        (
            "node",
            json!([
                [1],
                ["a", "b"],
                "c.txt",
                "{ a: [ 1 ] }",
                "d41d8cd98f00b204e9800998ecf8427e",
                "5+ohw7y2Ok2jrXhQMWjTa9ygvmIjgupgoQj61OSWZnk=",
                70_000,
                0,
                36,
            ]),
        ),
    ] {
        world.is("look", name, expected);
    }
    // The seed of the engine's own numbers is a part of the component.
    let [one, other] = [(), ()].map(|()| json_of(&world.run("look", "random")));
    assert_eq!([&one[0], &one[1], &other[1]], [&json!(true), &json!(1000), &json!(1000)]);
    assert_ne!(one[2], other[2]);
    for (job, expected) in [
        ("long text", json!([(1 << 20) + 4, "xgrün"])),
        ("long form", json!(true)),
        ("long buffer", json!([true, true, "rü", "gr"])),
    ] {
        assert_eq!(json_of(&world.call("frugal__look", job)), expected, "{job}");
    }
    for (tool, job) in [("use", "luxon elsewhere"), ("look", "Intl elsewhere")] {
        let called = world.run(tool, job);
        assert!(
            called.good().contains("the sandbox formats for the locale en-US only, not en-GB."),
            "{}",
            called.good()
        );
    }
    // Whatever a package makes of it.
    for (tool, job) in [("use", "axios denied"), ("use", "ky denied"), ("look", "fetch denied")] {
        assert_eq!(world.run(tool, job).code(), "denied", "{job}");
    }
    let thrown = world.run("look", "timers that throw");
    assert_eq!(thrown.result()["isError"], true, "{}", thrown.result());
}

/// Builds a plugin of which this is the only module, beside a package that imports what there is not.
fn build(home: &Home, module: &str) -> Ran {
    let folder = home.path().join("hello-javascript");
    if !folder.exists() {
        begin(home, "javascript");
        let package = folder.join("node_modules/old");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), r#"{"name": "old", "version": "1.0.0", "main": "old.js"}"#).unwrap();
        let code = "const fs = require('fs');\nexports.read = fs.readFileSync;\nexports.add = (a, b) => a + b;\n";
        fs::write(package.join("old.js"), code).unwrap();
    }
    fs::write(folder.join("plugin.js"), module).unwrap();
    let mut command = Command::new(paths::binary());
    command.arg("build").arg(&folder).env("PORTCULLIS_CACHE", paths::cache());
    suite::cli::run(command)
}

#[test]
fn an_author_is_told_what_there_is_in_place_of_a_module_of_node() {
    let home = Home::new();
    let tool = "import { tool } from \"portcullis-guest\";\n";
    let refused = build(&home, &format!("{tool}import {{ readFile }} from \"node:fs/promises\";\n"));
    let said = "plugin.js imports `node:fs/promises` of Node, which is not in the sandbox: use `files` of portcullis-guest for the \
                folders that were granted";
    assert!(refused.refused().contains(said), "{refused:?}");
    let refused = build(&home, &format!("{tool}const id = crypto.randomUUID();\n"));
    assert!(refused.refused().contains("the modules of a plugin are loaded when it is built"), "{refused:?}");

    // A package that imports it may get on without. Names are found however the plugin reaches them.
    let run = "import { randomUUID } from \"node:crypto\";\nconst { random } = Math;\n\
               tool({ name: \"draw\", description: \"Draws.\", run: () => `${randomUUID().length} ${random()}` });\n\
               tool({ name: \"run\", description: \"Runs.\", run: () => `${old.add(1, 2)}` });\n\
               tool({ name: \"read\", description: \"Reads.\", run: () => old.read(\"/x\") });\n";
    let built = build(&home, &format!("{tool}import old from \"old\";\n{run}"));
    built.good();
    assert!(built.stderr.contains("note: node_modules/old/old.js imports `fs` of Node"), "{built:?}");
    let call = |tool| {
        let config = "hello-javascript/portcullis.toml";
        suite::portcullis(&home, &["call", "hello-javascript", tool, "--config", config])
    };
    assert_eq!(call("run").good(), "3\n");
    let [one, other] = [(), ()].map(|()| call("draw"));
    assert!(one.good().starts_with("36 0.") && one.good() != other.good(), "{one:?} {other:?}");
    assert!(
        call("read").stdout.contains("`fs.readFileSync` of Node is not in the sandbox: use `files`"),
        "{:?}",
        call("read")
    );
}
