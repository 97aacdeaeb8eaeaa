//! Packages of npm in a plugin, and the global names and modules of Node that they and people expect: `tests/languages/npm`.

use super::templates::begin;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use suite::guest_libraries::{Library, World, read};
use suite::{Called, Home, Ran, paths};

/// The component with the packages and with `tests/languages/npm`.
struct Npm {
    world: World,
}

impl Npm {
    fn new(libraries: &[&Library]) -> Self {
        Self { world: World::new(&paths::language("libraries-javascript"), libraries) }
    }

    fn run(&mut self, tool: &str, job: &str) -> Called {
        self.call(&format!("guest__{tool}"), job)
    }

    fn call(&mut self, tool: &str, job: &str) -> Called {
        let server = self.world.server();
        self.world.client.call(tool, json!({"job": job, "server": server}))
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
    let libraries = read("javascript");
    let called: Vec<_> = libraries.iter().filter(|one| one.ci).collect();
    let mut npm = Npm::new(&called);
    npm.world.check(&called);
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
        npm.is("look", name, expected);
    }
    // The seed of the engine's own numbers is a part of the component.
    let [one, other] = [(), ()].map(|()| json_of(&npm.run("look", "random")));
    assert_eq!([&one[0], &one[1], &other[1]], [&json!(true), &json!(1000), &json!(1000)]);
    assert_ne!(one[2], other[2]);
    for (job, expected) in [
        ("long text", json!([(1 << 20) + 4, "xgrün"])),
        ("long form", json!(true)),
        ("long buffer", json!([true, true, "rü", "gr"])),
    ] {
        assert_eq!(json_of(&npm.call("frugal__look", job)), expected, "{job}");
    }
    for (tool, job) in [("refuse", "luxon"), ("look", "Intl elsewhere")] {
        let called = npm.run(tool, job);
        assert!(
            called.good().contains("the sandbox formats for the locale en-US only, not en-GB."),
            "{}",
            called.good()
        );
    }
    // Whatever a package makes of it.
    for (tool, job) in [("refuse", "axios"), ("refuse", "ky"), ("look", "fetch denied")] {
        assert_eq!(npm.run(tool, job).code(), "denied", "{job}");
    }
    let thrown = npm.run("look", "timers that throw");
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
        let code = "const fs = require('fs');\nexports.read = fs.readFileSync;\nexports.add = (a, b) => a + b;\n\
                    try { require('not-there'); } catch (error) { exports.code = error.code; }\n";
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
               tool({ name: \"run\", description: \"Runs.\", run: () => `${old.add(1, 2)} ${old.code}` });\n\
               tool({ name: \"read\", description: \"Reads.\", run: () => old.read(\"/x\") });\n";
    let built = build(&home, &format!("{tool}import old from \"old\";\n{run}"));
    built.good();
    assert!(built.stderr.contains("note: node_modules/old/old.js imports `fs` of Node"), "{built:?}");
    let call = |tool| {
        let config = "hello-javascript/portcullis.toml";
        suite::portcullis(&home, &["call", "hello-javascript", tool, "--config", config])
    };
    assert_eq!(call("run").good(), "3 MODULE_NOT_FOUND\n");
    let [one, other] = [(), ()].map(|()| call("draw"));
    assert!(one.good().starts_with("36 0.") && one.good() != other.good(), "{one:?} {other:?}");
    assert!(
        call("read").stdout.contains("`fs.readFileSync` of Node is not in the sandbox: use `files`"),
        "{:?}",
        call("read")
    );
}
