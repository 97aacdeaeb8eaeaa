//! Schemas that `portcullis build` makes of types of TypeScript: what a client sees of them, and what an author is told.

use super::templates::begin;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use suite::{Called, Client, Era, Home, Ran, Server, paths, plugin_from, portcullis};

fn client() -> Client {
    Client::new(Server::start(&plugin_from("typed", &paths::language("typed"), "")), Era::Modern, false)
}

fn tool(client: &mut Client, name: &str) -> Value {
    let tools = client.tools();
    tools.into_iter().find(|tool| tool["name"] == format!("typed__{name}")).unwrap()
}

#[test]
fn a_client_sees_the_types_as_schemas() {
    let mut client = client();
    let order = tool(&mut client, "order");
    let quantity = json!({"type": "integer", "description": "How many, at least one.", "minimum": 1, "maximum": 99});
    let item = json!({
        "type": "object",
        "description": "One line of an order.",
        "properties": {
            "article": {"type": "string", "description": "Its article number.", "pattern": r"^[A-Z]{2}-\d+$"},
            "quantity": quantity,
            "size": {"type": "string", "enum": ["small", "medium", "large"]},
            "words": {
                "type": "object", "description": "Words that are put on it.", "additionalProperties": {"type": "string"},
            },
        },
        "required": ["article", "quantity"],
    });
    let input = json!({
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "Who orders.", "minLength": 1},
            "items": {"type": "array", "minItems": 1, "items": item},
            "deliver": {"type": ["string", "null"], "format": "date"},
            "shipping": {"type": "string", "enum": ["standard", "express"], "default": "standard"},
            "perParcel": {
                "type": "integer", "description": "How many items a parcel has.", "minimum": 1, "maximum": 99, "default": 10,
            },
        },
        "required": ["customer", "items"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "parcels": {"type": "integer", "description": "The number of parcels."},
            "shipping": {"type": "string"},
            "deliver": {"type": "string", "description": "Undefined if nothing is said of it."},
        },
        "required": ["parcels", "shipping"],
    });
    assert_eq!((&order["inputSchema"], &order["outputSchema"]), (&input, &output));

    // A type that leads back to itself.
    let part = json!({
        "type": "object",
        "description": "A part, and what it is made of.",
        "properties": {
            "name": {"type": "string"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        },
        "required": ["name"],
    });
    let count = tool(&mut client, "count");
    let mut input = part.clone();
    input.as_object_mut().unwrap().remove("description");
    input["additionalProperties"] = false.into();
    input["$defs"] = json!({"Part": part});
    assert_eq!((&count["inputSchema"], count.get("outputSchema")), (&input, None));

    let greet = tool(&mut client, "greet");
    assert_eq!(
        greet["inputSchema"]["properties"],
        json!({"name": {"type": "string", "description": "Whom to greet."}})
    );
}

#[test]
fn arguments_are_checked_against_the_types() {
    let mut client = client();
    let mut order = |more: Value| -> Called {
        let mut arguments = json!({"customer": "Ada", "items": [{"article": "AB-1", "quantity": 25}]});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("typed__order", arguments)
    };
    for (more, parcels) in [
        // Both defaults are filled in: that of a comment, and that of the parameter list.
        (json!({}), json!({"parcels": 3, "shipping": "standard"})),
        (json!({"perParcel": 5, "shipping": "express", "deliver": null}), json!({"parcels": 5, "shipping": "express"})),
        // It may be left out, and may not be null.
        (json!({"shipping": null}), json!({"parcels": 3, "shipping": "standard"})),
        (json!({"deliver": "2030-01-02"}), json!({"parcels": 3, "shipping": "standard", "deliver": "2030-01-02"})),
    ] {
        let called = order(more);
        assert_eq!(called.result()["structuredContent"], parcels, "{}", called.result());
    }
    assert_eq!(order(json!({"customer": "nobody"})).result()["isError"], true);
    for more in [
        json!({"customer": ""}),
        json!({"items": []}),
        json!({"items": [{"article": "AB-1"}]}),
        json!({"items": [{"article": "1", "quantity": 1}]}),
        json!({"items": [{"article": "AB-1", "quantity": 1.5}]}),
        json!({"items": [{"article": "AB-1", "quantity": 100}]}),
        json!({"items": [{"article": "AB-1", "quantity": 1, "size": "huge"}]}),
        json!({"items": [{"article": "AB-1", "quantity": 1, "words": {"front": 1}}]}),
        json!({"perParcel": 0}),
        json!({"other": 1}),
    ] {
        assert_eq!(order(more.clone()).code(), "invalid-arguments", "{more}");
    }
    let whole = json!({"name": "bike", "parts": [{"name": "wheel", "parts": [{"name": "hub"}]}, {"name": "frame"}]});
    assert_eq!(client.call("typed__count", whole).good(), "4");
    let deep = json!({"name": "bike", "parts": [{"name": "wheel", "parts": [{}]}]});
    assert_eq!(client.call("typed__count", deep).code(), "invalid-arguments");
    assert_eq!(client.call("typed__greet", json!({"name": "Ada"})).good(), "Hello, Ada!");
}

/// Builds a plugin of which this is the only module, without a network.
fn build(home: &Home, language: &str, module: &str) -> Ran {
    let folder = home.path().join(format!("hello-{language}"));
    if !folder.exists() {
        begin(home, language);
    }
    let file = if language == "typescript" { "plugin.ts" } else { "plugin.js" };
    fs::write(folder.join(file), module).unwrap();
    let mut command = Command::new(paths::binary());
    command.arg("build").arg(&folder).env("PORTCULLIS_CACHE", paths::cache()).env("npm_config_offline", "true");
    command.env("npm_config_registry", "http://127.0.0.1:9/");
    suite::cli::run(command)
}

const GOOD: &str = r#"import { type integer, typedTool } from "portcullis-guest";

interface Arguments {
  /** @minimum 1 */
  count: integer;
}
typedTool<Arguments>({ name: "repeat", description: "Repeats.", run: ({ count }) => "ha".repeat(count) });
"#;

/// The compiler is in the cache since the first plugin of this kind was built, by whomever.
#[test]
fn a_plugin_with_types_is_built_without_a_network() {
    let home = Home::new();
    let built = build(&home, "typescript", GOOD);
    built.good();
    assert!(built.stderr.contains("checking the types ... done"), "{built:?}");
    let call = |count| {
        let config = "hello-typescript/portcullis.toml";
        portcullis(&home, &["call", "hello-typescript", "repeat", count, "--config", config])
    };
    assert_eq!(call("count=3").good(), "hahaha\n");
    assert!(call("count=0").stderr.contains("0 is less than the minimum of 1"));
    // A plugin without such tools needs no compiler.
    let builder = GOOD.replace("typedTool<Arguments>", "tool").replace("typedTool", "tool");
    let built = build(&home, "typescript", &builder);
    built.good();
    assert!(!built.stderr.contains("checking the types"), "{built:?}");
}

#[test]
fn an_author_is_told_what_has_no_schema_and_where() {
    let home = Home::new();
    for (from, to, said) in [
        (
            "  count: integer;",
            "  count: integer;\n  when: Date;\n  then?: () => void;",
            &[
                "the types of hello-typescript are not accepted:\nplugin.ts:6:3: Arguments.when has the type `Date`, which has no JSON Schema; \
                 write string, with @format date-time in its comment\n",
                "plugin.ts:7:3: Arguments.then has the type `() => void`, which has no JSON Schema; write data: a function cannot be sent",
            ][..],
        ),
        ("@minimum", "@minimun", &["plugin.ts:5:3: Arguments.count: @minimun is not known; known are minimum,"]),
        (
            "\"ha\".repeat(count)",
            "count.repeat(2)",
            &["plugin.ts:7:91: Property 'repeat' does not exist on type 'integer'. (TS2339)"],
        ),
        ("\"repeat\"", "`${Math.random() < 2}`", &["plugin.ts:7:30: no name is known when the plugin is built"]),
    ] {
        assert!(GOOD.contains(from));
        let refused = build(&home, "typescript", &GOOD.replacen(from, to, 1));
        for said in said {
            assert!(refused.refused().contains(said), "{refused:?}");
        }
    }
    let module =
        "import { typedTool } from \"portcullis-guest\";\ntypedTool({ name: \"a\", description: \"A.\", run() {} });\n";
    let refused = build(&home, "javascript", module);
    assert!(
        refused.refused().contains("no types are known of the tool `a`: typedTool is for modules in TypeScript"),
        "{refused:?}"
    );
}
