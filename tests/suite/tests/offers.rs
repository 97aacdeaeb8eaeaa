//! Components with invalid offers are refused at load time, by `check` and by `serve` alike.

use suite::{Home, paths, plugin, portcullis};

/// Checks that both commands refuse the guest with a reason that contains these words.
fn refused(guest: &str, words: &[&str]) {
    let home = Home::new();
    let source = paths::guest(guest).display().to_string();
    let file = home.write("portcullis.toml", plugin(guest, "")).display().to_string();
    for arguments in [vec!["check", &source], vec!["serve", "--strict", "--config", &file]] {
        let ran = portcullis(&home, &arguments);
        let said = ran.refused();
        for word in words {
            assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
        }
        assert!(said.contains(guest), "{arguments:?} does not say which plugin: {said}");
    }
}

#[test]
fn invalid_tools_are_refused() {
    refused("bad-name", &["run away"]);
    refused("long-name", &["64"]);
    refused("twin-tools", &["two tools", "run"]);
    refused("bad-schema", &["schema", "run"]);
    refused("schema-no-object", &["schema", "object"]);
    refused("schema-remote", &["schema", "http://127.0.0.1:9/schema.json"]);
    refused("giant-list", &["8"]);
}

#[test]
fn resources_with_the_hosts_own_uris_are_refused() {
    refused("bad-uri", &["the host's own", "portcullis://published/other/secrets"]);
}

#[test]
fn two_plugins_with_the_same_uri_are_refused() {
    let home = Home::new();
    let config = suite::plugin_from("one", &paths::guest("provider"), "")
        + &suite::plugin_from("other", &paths::guest("provider"), "");
    let file = home.write("portcullis.toml", config).display().to_string();
    let ran = portcullis(&home, &["serve", "--strict", "--config", &file]);
    for word in ["plugins.one", "plugins.other", "test://", "same URI"] {
        assert!(ran.refused().contains(word), "{word}: {}", ran.stderr);
    }
}

#[test]
fn check_and_show_list_resources_and_prompts() {
    let home = Home::new();
    let source = paths::guest("provider").display().to_string();
    let file = home.write("portcullis.toml", plugin("provider", "")).display().to_string();
    for arguments in [vec!["check", &source], vec!["plugin", "show", "provider", "--config", &file]] {
        let ran = portcullis(&home, &arguments);
        for word in
            ["resources", "test://text", "resource templates", "test://item/{id}/of/{folder}", "greet(name, [style])"]
        {
            assert!(ran.good().contains(word), "{arguments:?} does not show {word:?}: {}", ran.stdout);
        }
    }
}

#[test]
fn invalid_manifests_are_refused() {
    refused("bad-manifest", &["manifest", "colour"]);
    refused("broken-manifest", &["manifest"]);
}

#[test]
fn unknown_interfaces_are_refused() {
    refused("wrong-api", &["0.9.0", "0.1.0"]);
    refused("wrong-world", &["none of its functions can be a tool", "someone:other/things#make", "has a resource"]);
}

#[test]
fn code_that_misbehaves_at_load_time_is_refused() {
    refused("spin-start", &["fuel"]);
    refused("spin-list", &["fuel"]);
    refused("panic-list", &["no tools today"]);
}
