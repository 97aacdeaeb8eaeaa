//! Components that know nothing of us: their functions are tools.

use crate::tasks::{abilities, wait_for};
use serde_json::{Value, json};
use std::fs;
use suite::{Called, Client, Era, Home, Server, forge, paths, plugin, plugin_from, portcullis, with_manifest};

/// Memory of the server that a call may take for a moment: what it passes at once, as values and as JSON, some times over.
const FOR_A_CALL: u64 = 96 << 20;

fn shapes() -> Client {
    Client::of(&plugin("plain-shapes", "limits.fuel = 100_000_000"))
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Called {
    client.call(&format!("plain-shapes__{tool}"), arguments)
}

#[test]
fn functions_are_listed_with_their_schemas() {
    let tools = shapes().tools();
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["greet", "geometry-area", "geometry-draw", "numbers", "nothing"] {
        assert!(names.contains(&format!("plain-shapes__{name}").as_str()), "{names:?}");
    }
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == format!("plain-shapes__{name}")).unwrap();
    let greet = &tool("greet")["inputSchema"];
    assert_eq!(greet["required"], json!(["name"]), "{greet}");
    assert_eq!(greet["additionalProperties"], json!(false));
    let times = &greet["properties"]["times"]["anyOf"];
    assert_eq!(times, &json!([{"type": "integer", "minimum": 0, "maximum": 255}, {"type": "null"}]));
    let bytes = json!({"type": "string", "contentEncoding": "base64"});
    assert_eq!(tool("invert")["inputSchema"]["properties"]["bytes"], bytes);
    assert_eq!(tool("invert")["outputSchema"]["properties"]["result"], bytes);
    assert!(tool("nothing").get("outputSchema").is_none() && tool("done").get("outputSchema").is_none());
    let style = &tool("geometry-draw")["inputSchema"]["properties"]["style"];
    assert_eq!(style["items"]["enum"], json!(["bold", "italic", "underlined"]));
    let shape = &tool("geometry-area")["inputSchema"]["properties"]["of"]["oneOf"];
    assert_eq!(shape.as_array().map(Vec::len), Some(3));
    // It has a function that returns nothing.
    let fresh = "\n\nEach call begins with fresh memory: what an earlier call has set there is gone.";
    assert_eq!(tool("greet")["description"], format!("The function `greet`.{fresh}"));
    let area = format!("The function `acme:shapes/geometry@1.2.0#area`.{fresh}");
    assert_eq!(tool("geometry-area")["description"], area);
}

#[test]
fn values_of_every_kind_go_in_and_come_out() {
    let mut client = shapes();
    let structured = |called: &Called| called.result()["structuredContent"].clone();
    let greeted = call(&mut client, "greet", json!({"name": "Ada", "times": 2}));
    assert_eq!(greeted.good(), "Hello, Ada! Hello, Ada!");
    assert_eq!(structured(&greeted), json!({"result": "Hello, Ada! Hello, Ada!"}));
    assert_eq!(call(&mut client, "greet", json!({"name": "Ada", "times": null})).good(), "Hello, Ada!");
    assert_eq!(call(&mut client, "greet", json!({"name": "Ada"})).good(), "Hello, Ada!");
    let numbers = json!({"unsigned": "18446744073709551615", "signed": -5, "small": -128, "sign": "é", "real": 0.1});
    let told = call(&mut client, "numbers", numbers);
    assert_eq!(structured(&told)["result"], json!(["18446744073709551615", -5, -128, "é", 0.1]));
    assert_eq!(serde_json::from_str::<Value>(&told.good()).unwrap(), structured(&told));
    for value in [json!(null), json!({"some": null}), json!({"some": true})] {
        let nested = call(&mut client, "nested", json!({"value": value}));
        assert_eq!(structured(&nested), json!({"result": value}));
    }
    let label = json!({"text": "a", "at": {"x": 1.0, "y": -0.5}});
    let shape = json!({"tag": "polygon", "value": [{"x": 0.0, "y": 1e300}]});
    let all = json!({"label": label, "shape": shape, "colour": "dark-green", "style": ["italic"]});
    let echoed = call(&mut client, "geometry-echo", all);
    assert_eq!(structured(&echoed)["result"], json!([label, shape, "dark-green", ["italic"]]));
    let draw = json!({"label": {"text": "a"}, "colour": "red", "style": []});
    assert!(call(&mut client, "geometry-draw", draw).good().starts_with("a 12 at nowhere"));
    let area = |client: &mut Client, of: Value| call(client, "geometry-area", json!({"of": of}));
    assert_eq!(structured(&area(&mut client, json!({"tag": "circle", "value": 2}))), json!({"result": 12.0}));
    assert_eq!(structured(&area(&mut client, json!({"tag": "nothing"}))), json!({"result": "Infinity"}));
    let given = json!({"given": {"err": "why"}});
    assert_eq!(structured(&call(&mut client, "outcome", given)), json!({"result": {"err": "why"}}));
    let centre = call(&mut client, "geometry-centre", json!({"points": []}));
    assert_eq!(structured(&centre), json!({"result": null}));
}

#[test]
fn bytes_are_base64() {
    let mut client = shapes();
    let inverted = call(&mut client, "invert", json!({"bytes": "AP8="}));
    assert_eq!(inverted.result()["structuredContent"], json!({"result": "/wA="}));
    let parts = call(&mut client, "parts", json!({"name": "ab", "bytes": "Yw=="}));
    assert_eq!(parts.result()["structuredContent"], json!({"result": "YWJj"}));
    let empty = call(&mut client, "parts", json!({"name": "ab", "bytes": ""}));
    assert!(empty.is_error() && empty.text() == "ab is empty", "{}", empty.result());
    // Within lists they are values one by one.
    let sums = call(&mut client, "checksums", json!({"parts": ["AQI=", "", "/w=="]}));
    assert_eq!(sums.result()["structuredContent"], json!({"result": [3, 0, 255]}));
    let wrong = call(&mut client, "invert", json!({"bytes": "AP8"}));
    assert_eq!(wrong.code(), "invalid-arguments");
    assert!(wrong.text().contains("/bytes is not base64"), "{}", wrong.text());
    let large = "A".repeat(1 << 20);
    let inverted = call(&mut client, "invert", json!({"bytes": large}));
    assert_eq!(inverted.result()["structuredContent"]["result"], "/".repeat(1 << 20));
}

#[test]
fn errors_and_nothing_are_told_apart() {
    let mut client = shapes();
    let nothing = call(&mut client, "nothing", json!({}));
    assert_eq!(nothing.result()["content"], json!([{"type": "text", "text": ""}]), "{}", nothing.result());
    assert!(nothing.result().get("structuredContent").is_none());
    assert_eq!(call(&mut client, "done", json!({"ok": true})).good(), "");
    let failed = |called: Called| {
        assert!(called.is_error() && called.result().get("structuredContent").is_none(), "{}", called.result());
        called.text()
    };
    assert_eq!(failed(call(&mut client, "done", json!({"ok": false}))), "it was not to be");
    assert_eq!(failed(call(&mut client, "fail", json!({"size": 3}))), r#"{"tag":"too-small","value":3}"#);
    assert_eq!(failed(call(&mut client, "fail", json!({}))), r#"{"tag":"unknown"}"#);
    assert_eq!(failed(call(&mut client, "bare", json!({}))), "it failed, and gave no reason");
    assert_eq!(call(&mut client, "spin", json!({})).code(), "fuel-exhausted");
    for wrong in [
        json!({"name": "Ada", "times": 256}),
        json!({"name": "Ada", "times": 1.5}),
        json!({"name": "Ada", "more": 1}),
        json!({"times": 1}),
        json!({"name": null}),
    ] {
        assert_eq!(call(&mut client, "greet", wrong.clone()).code(), "invalid-arguments", "{wrong}");
    }
    let wide = json!({"unsigned": "1e3", "signed": 0, "small": 0, "sign": "a", "real": 0});
    assert_eq!(call(&mut client, "numbers", wide).code(), "invalid-arguments");
}

/// What a guest can write down in four bytes may take two kilobytes as values of the host.
#[test]
fn results_take_no_more_memory_than_they_may() {
    let flood = plugin("plain-flood", "limits.fuel = 10_000_000_000");
    let config = flood + &plugin("echo", "");
    let mut client = Client::of_server(Server::measurable(Home::new(), &config, &[], |_| {}));
    client.call("plain-flood__text", json!({"count": 1})).good();
    let mut wrong = vec![];
    for (tool, counts) in [
        ("all-flags", [2_000, 90_000, 1_000_000, 8_000_000]),
        ("records", [2_000, 20_000, 200_000, 4_000_000]),
        ("options", [2_000, 20_000, 200_000, 4_000_000]),
        ("bytes", [2_000, 3_000_000, 7_000_000, 40_000_000]),
        ("boxed-bytes", [2_000, 100_000, 200_000, 40_000_000]),
        ("text", [2_000, 1_000_000, 8_000_000, 40_000_000]),
    ] {
        for (at, count) in counts.into_iter().enumerate() {
            let argument = if tool == "bytes" { json!(count.to_string()) } else { json!(count) };
            let (called, more) =
                client.measured(|client| client.call(&format!("plain-flood__{tool}"), json!({"count": argument})));
            let ended = if called.is_error() { called.code().to_owned() } else { "ok".to_owned() };
            println!("{tool} {count}: {ended}, {} MiB", more >> 20);
            let expected = match at {
                0 => ended == "ok",
                1 if tool == "bytes" => ended == "ok",
                3 => ended == "hostcall-exceeded" || ended == "output-exceeded",
                _ => true,
            };
            if more > FOR_A_CALL || !expected {
                wrong.push(format!("{tool} {count}: {ended}, {} MiB", more >> 20));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    client.check_alive();
}

fn refusal(name: &str, component: &[u8]) -> String {
    let home = Home::new();
    let file = home.write(name, component).display().to_string();
    portcullis(&home, &["check", &file]).refused().to_owned()
}

const NONE: &str = r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))
    (func $f (canon lift (core func $i "f")))"#;

#[test]
fn what_cannot_be_a_plugin_is_refused_with_its_reason() {
    let refused = |text: &str| refusal("plain.wasm", &wat::parse_str(format!("(component {text})")).unwrap());
    let said = refused(&format!(
        r#"(import "acme:db/store@1.0.0" (instance $s (export "get" (func)))) {NONE} (export "run" (func $f))"#
    ));
    assert!(
        said.contains("needs an import that this host does not offer") && said.contains("acme:db/store@1.0.0"),
        "{said}"
    );
    let said = refused(&format!("(type (stream u8)) {NONE} (export \"run\" (func $f))"));
    assert!(said.contains("asynchronous") && said.contains("WASI 0.2"), "{said}");
    let twins = format!(
        r#"{NONE} (instance $one (export "run" (func $f))) (export "a:b/x" (instance $one))
        (export "c:d/x" (instance $one))"#
    );
    let said = refused(&twins);
    assert!(said.contains("a:b/x#run") && said.contains("c:d/x#run"), "{said}");
    let mut bomb = r#"(type $n0 (record (field "a" u8))) (export $t0 "t0" (type $n0))"#.to_owned();
    for at in 1..=15 {
        let last = at - 1;
        bomb += &format!(
            r#"(type $n{at} (record (field "a" $t{last}) (field "b" $t{last}))) (export $t{at} "t{at}" (type $n{at}))"#
        );
    }
    bomb += r#"(core module $m (memory (export "m") 1) (func (export "r") (param i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "f") (param i32 i32))) (core instance $i (instantiate $m))
        (func $f (param "x" (list $t15)) (canon lift (core func $i "f") (memory $i "m") (realloc (func $i "r"))))
        (export "bomb" (func $f))"#;
    let said = refused(&bomb);
    assert!(said.contains("`bomb` has more than 2000 types"), "{said}");
}

#[test]
fn comments_are_descriptions() {
    let docs =
        br#"{"worlds":{"shapes":{"func_exports":{"greet":{"docs":"Greets somebody."}}}},"interfaces":{"geometry":
        {"funcs":{"area":{"docs":"How large it is."}},"types":{"point":{"items":{"x":"To the right."}}}}}}"#;
    let component = fs::read(paths::guest("plain-shapes")).unwrap();
    let section = forge::custom("package-docs", &[&[1], docs.as_slice()].concat());
    let home = Home::new();
    let source = home.write("shapes.wasm", [component, section].concat());
    let mut client = Client::of_server(Server::start_in(home, &plugin_from("shapes", &source, "")));
    let tools = client.tools();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == format!("shapes__{name}")).unwrap();
    let begins = |name: &str, text: &str| tool(name)["description"].as_str().unwrap().starts_with(text);
    assert!(begins("greet", "Greets somebody.") && begins("geometry-area", "How large it is."));
    let points = &tool("geometry-centre")["inputSchema"]["properties"]["points"]["items"];
    assert_eq!(points["properties"]["x"]["description"], "To the right.");
}

/// The component with files, and the configuration that lets it write them.
fn files(home: &Home, server: &str) -> String {
    let requests = json!({"filesystem": "write", "env": ["PATH"]});
    let manifest = json!({"name": "files", "version": "0.1.0", "requests": requests});
    let component = fs::read(paths::guest("plain-files")).unwrap();
    let source = home.write("files.wasm", with_manifest(component, &manifest));
    let grants =
        "grants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"write\" }]\nlimits.deadline = \"10m\"";
    format!("{server}\n{}{}", plugin_from("files", &source, grants), plugin("plain-files", ""))
}

#[test]
fn it_has_nothing_that_was_not_granted() {
    let home = Home::new();
    fs::write(home.work().join("note"), "hello").unwrap();
    let config = files(&home, "");
    let mut client = Client::of_server(Server::start_in(home, &config));
    assert_eq!(client.call("files__read-text", json!({"path": "/work/note"})).good(), "hello");
    assert!(client.call("plain-files__read-text", json!({"path": "/work/note"})).is_error());
    for plugin in ["files", "plain-files"] {
        assert!(client.call(&format!("{plugin}__read-text"), json!({"path": "/etc/passwd"})).is_error());
        let variable = client.call(&format!("{plugin}__variable"), json!({"name": "PATH"}));
        assert_eq!(variable.result()["structuredContent"], json!({"result": null}));
    }
}

#[test]
fn a_task_goes_on_after_its_host_was_killed() {
    let home = Home::new();
    let config = files(&home, "[server.tasks]\ninline = \"0s\"\n");
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, abilities());
    client.server.wait_until_loaded();
    let call = json!({"name": "files__add-lines", "arguments": {"path": "/work/log", "lines": 8}});
    let begun = client.request("tools/call", call);
    let task = begun.result()["taskId"].as_str().unwrap_or_else(|| panic!("{}", begun.result())).to_owned();
    let work = client.server.home.work();
    let allow = |lines: u32| fs::write(work.join("log.allowed"), lines.to_string()).unwrap();
    for lines in [2, 4, 6] {
        allow(lines);
        // It only looks now. Of one that was writing, nobody would know whether it had written.
        client.server.wait_for_log(&format!("wrote {}", lines - 1));
        client.server.restart_stdio();
    }
    allow(8);
    let ended = wait_for(&mut client, &task, |task| task["status"] != "working");
    assert_eq!(ended["result"]["structuredContent"], json!({"result": 8}), "{ended}");
    let log = fs::read_to_string(client.server.home.work().join("log")).unwrap();
    assert_eq!(log, (0..8).map(|line| format!("{line}\n")).collect::<String>(), "each line once");
}

/// Each call makes the resource that it needs, and nothing of it is left for the next.
#[test]
fn methods_make_their_resource() {
    let home = Home::new();
    // What is left out is said when a component is read, not when it is known already.
    let cache = home.path().join("cache");
    let config = plugin("plain-resources", "limits.fuel = 100_000_000");
    let server = Server::spawn(home, &config, &[], |command| {
        command.env("PORTCULLIS_CACHE", cache);
    });
    server.wait_until_loaded();
    let mut client = Client::of_server(server);
    let tools = client.tools();
    let names: Vec<_> =
        tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix("plain-resources__")).collect();
    let expected = [
        "shop-bell-ring",
        "shop-cart-describe",
        "shop-cart-digest",
        "shop-cart-most",
        "shop-cart-spin",
        "shop-cart-total",
        "shop-left",
        "shop-rings",
    ];
    assert_eq!(names, expected);
    let log = client.server.wait_for_log("not offered as tools");
    // A handle cannot be passed on: not as a result, not as a parameter, nor within one.
    for (function, place) in [
        ("cart.another", "its result"),
        ("open", "its result"),
        ("deals", "its result"),
        ("dearer", "its parameter `one`"),
        ("close", "its parameter `deals`"),
    ] {
        let reason = format!("{function}` has a resource, which would be gone with the call (in {place})");
        assert!(log.contains(&reason), "{reason} is not in: {log}");
    }
    assert!(log.contains("hidden.look` belongs to a resource without a constructor"), "{log}");
    let mut call = |tool: &str, arguments: Value| client.call(&format!("plain-resources__shop-{tool}"), arguments);
    let structured = |called: Called| called.result()["structuredContent"]["result"].clone();
    let cart = json!({"owner": "Ada", "items": [{"name": "tea", "price": 3}, {"name": "jam", "price": 4}]});
    assert_eq!(structured(call("cart-total", json!({"cart": cart}))), 7);
    assert_eq!(call("cart-describe", json!({"cart": cart, "title": "To "})).good(), "To Ada: tea, jam");
    let nothing = call("cart-describe", json!({"cart": {"owner": "Bo", "items": []}}));
    assert!(nothing.is_error() && nothing.text() == "Bo has nothing", "{}", nothing.result());
    assert_eq!(structured(call("cart-digest", json!({"cart": cart, "salt": "AAc="}))), "BwA=");
    assert_eq!(structured(call("cart-most", json!({}))), 99);
    assert_eq!(call("bell-ring", json!({"times": 2})).good(), "ding ding");
    assert_eq!(call("bell-ring", json!({"times": 1})).good(), "ding", "another bell");
    assert_eq!((structured(call("rings", json!({}))), structured(call("left", json!({})))), (json!(0), json!(0)));
    assert_eq!(call("cart-spin", json!({"cart": cart})).code(), "fuel-exhausted");
    for wrong in [json!({}), json!({"cart": {"owner": "Ada"}}), json!({"cart": cart, "self": 1}), json!({"cart": 7})] {
        assert_eq!(call("cart-total", wrong.clone()).code(), "invalid-arguments", "{wrong}");
    }
    client.server.wait_for_log("the cart of Ada is gone");
}
