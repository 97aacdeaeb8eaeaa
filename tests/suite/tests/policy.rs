//! Plugins get what the configuration grants, and nothing else.

use serde_json::json;
use suite::{Client, Era, Home, Server, plugin, plugin_from, portcullis};

/// The error with which `serve` refuses this configuration.
fn refused(config: &str) -> String {
    let home = Home::new();
    let file = home.write("portcullis.toml", config);
    let ran = portcullis(&home, &["serve", "--strict", "--config", &file.display().to_string()]);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    ran.refused().to_owned()
}

#[test]
fn an_unknown_key_is_refused_with_its_name_and_line() {
    let plugin = plugin("echo", "limits.fuel = 1_000_000\nlimits.petrol = 3");
    let line = plugin.lines().position(|line| line.contains("petrol")).unwrap() + 1;
    let said = refused(&plugin);
    assert!(said.contains("petrol") && said.contains(&format!("line {line}")), "{said}");
    for config in ["[server]\nhtpp = \"127.0.0.1:0\"\n", "[plugin.echo]\nsource = \"x\"\n"] {
        let said = refused(config);
        assert!(said.contains("htpp") || said.contains("plugin"), "{said}");
        assert!(said.contains("line "), "{said}");
    }
    let said = refused(&self::plugin("echo", "grants.filesistem = []"));
    assert!(said.contains("filesistem"), "{said}");
}

#[test]
fn an_invalid_value_is_refused_with_its_key() {
    for (settings, key) in [
        ("limits.deadline = \"soon\"", "deadline"),
        ("limits.memory = -1", "memory"),
        ("limits.metering = \"gas\"", "metering"),
        ("grants.filesystem = [{ host = \".\", guest = \"/x\", access = \"everything\" }]", "access"),
        ("grants.filesystem = [{ host = \".\", guest = \"relative\", access = \"read\" }]", "guest"),
    ] {
        let said = refused(&plugin("echo", settings));
        assert!(said.contains(key) || said.contains("line 3"), "{settings}: {said}");
    }
    let said = refused(&plugin_from("missing", std::path::Path::new("nowhere.wasm"), ""));
    assert!(said.contains("nowhere.wasm"), "{said}");
    let said = refused(&plugin(
        "read-inside",
        r#"grants.filesystem = [{ host = "nowhere", guest = "/work", access = "read" }]"#,
    ));
    assert!(said.contains("nowhere"), "{said}");
}

#[test]
fn each_plugin_has_only_its_own_grants() {
    let grant = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;
    let source = suite::paths::guest("write-inside");
    let mut client = Client::of(&(plugin_from("may", &source, grant) + &plugin_from("may-not", &source, "")));
    client.run("may", json!({"path": "/work/a.txt"})).good();
    assert!(client.run("may-not", json!({"path": "/work/b.txt"})).is_error());
    client.run("may", json!({"path": "/work/c.txt"})).good();
    let work = client.server.home.work();
    assert!(work.join("a.txt").exists() && work.join("c.txt").exists() && !work.join("b.txt").exists());
}

#[test]
fn paths_are_relative_to_the_configuration_file() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("plugins")).unwrap();
    std::fs::copy(suite::paths::guest("echo"), home.path().join("plugins/echo.wasm")).unwrap();
    let config = "[plugins.echo]\nsource = \"plugins/echo.wasm\"\n";
    let server = Server::spawn(home, config, &[], |command| {
        command.current_dir("/");
    });
    Client::new(server, Era::Modern, false).check_alive();
}

#[test]
fn a_tool_can_be_served_without_its_prefix() {
    let mut client = Client::of(&plugin("echo", "prefix = false"));
    assert_eq!(client.tools()[0]["name"], "run");
    assert!(client.call("run", json!({"n": 1})).good().contains('1'));
    let both = plugin("echo", "prefix = false") + &plugin("burn", "prefix = false");
    let said = refused(&both);
    assert!(said.contains("run") && said.contains("echo") && said.contains("burn"), "{said}");
}

#[test]
fn a_plugin_needs_a_plain_name() {
    for name in ["\"a b\"", "\"a__b\"", "\"\"", "\"..\"", "\"ä\""] {
        let config = format!("[plugins.{name}]\nsource = {:?}\n", suite::paths::guest("echo"));
        refused(&config);
    }
}
