//! `portcullis grant`, `revoke` and `policy`: how an operator turns a denial into a grant and takes a grant back.

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use suite::{Client, Home, Ran, Server, agent, plugin, portcullis};

/// A folder with this configuration.
fn home(config: &str) -> Home {
    let home = Home::new();
    home.write("portcullis.toml", config);
    home
}

fn text(home: &Home) -> String {
    fs::read_to_string(home.path().join("portcullis.toml")).unwrap()
}

fn asked(home: &Home, plugin: &str, question: &str) -> Ran {
    portcullis(home, &["policy", "test", plugin, question])
}

/// The command in a denial, split into arguments as a shell would.
fn command(denial: &str) -> Vec<String> {
    let (_, command) = denial.split_once("To allow it: portcullis ").unwrap();
    let (words, line) = command.split_once(" '").unwrap();
    let line = line.split('\'').next().unwrap();
    words.split(' ').chain([line, "--yes"]).map(str::to_owned).collect()
}

#[test]
fn the_command_in_a_denial_adds_the_missing_grant() {
    let config = plugin("keeper", "") + &plugin("relay", "") + &agent("echo", "echo", "");
    let mut client = Client::of(&config);
    for (name, arguments) in [("keeper", json!({"path": "set k v"})), ("relay", json!({"path": "echo.run"}))] {
        assert!(!client.run(name, arguments).text().contains("portcullis grant"));
        let command = command(&client.server.wait_for_log(&format!("portcullis grant {name} ")));
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        let granted = portcullis(&client.server.home, &words);
        assert!(granted.good().contains("  + ") && granted.stdout.contains("reloads by itself"), "{granted:?}");
    }
    assert!(text(&client.server.home).contains("state = {}"), "{}", text(&client.server.home));
    let (home, config) = (Home::new(), text(&client.server.home));
    let mut client = Client::of_server(Server::start_in(home, &config));
    client.run("keeper", json!({"path": "set k v"})).good();
    client.run("relay", json!({"path": "echo.run"})).good();
}

#[test]
fn grant_and_revoke_keep_the_rest_of_the_file() {
    let source = suite::paths::guest("relay");
    let config = format!(
        "# mine\n[plugins.relay]   # the relay\nsource = {:?}\n\n[plugins.relay.grants]\n# tools\nagent-tools = [\n    \"a.b\", # one\n]\n\n[server]\nreload = false\n",
        source.display().to_string()
    );
    let home = home(&config);
    let file = home.path().join("portcullis.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    portcullis(&home, &["grant", "relay", r#"agent-tools = ["c.d", "a.b"]"#, "--yes"]).good();
    assert_eq!(text(&home), config.replace("\"a.b\", # one\n", "\"a.b\", # one\n    \"c.d\",\n"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let again = portcullis(&home, &["grant", "relay", r#"agent-tools = ["c.d"]"#, "--yes"]);
    assert!(again.good().contains("nothing was changed"), "{again:?}");
    portcullis(&home, &["revoke", "relay", r#"agent-tools = ["c.d"]"#, "--yes"]).good();
    assert_eq!(text(&home), config);
    portcullis(&home, &["revoke", "relay", "agent-tools", "--yes"]).good();
    assert!(!text(&home).contains("agent-tools"), "{}", text(&home));
    portcullis(&home, &["grant", "relay", "limits = { fuel = 5_000_000 }", "--yes"]).good();
    assert!(text(&home).contains("fuel = 5_000_000"), "{}", text(&home));
}

#[test]
fn an_invalid_grant_is_refused_and_changes_nothing() {
    let config = plugin("relay", "") + &agent("echo", "echo", "");
    let home = home(&config);
    for (words, why) in [
        (vec!["grant", "relay", "network = true"], "network"),
        (vec!["grant", "relay", "agent-tools = [\"*\"]"], "no `.` between"),
        (vec!["grant", "relay", "agent-tools = 1"], "agent-tools"),
        (vec!["grant", "relay", "limits.memory = \"2 GiB\""], "outside what the host allows"),
        (vec!["grant", "relay", "env = [\"PORTCULLIS_LOG\"]"], "configures this host"),
        (vec!["grant", "relay", "env = [\"GITHUB_TOKEN\"]"], "looks like a secret"),
        (
            vec!["grant", "relay", r#"filesystem = [{ host = "<directory>", guest = "/x", access = "read" }]"#],
            "<directory>",
        ),
        (vec!["grant", "relay", "state = {}\npublish = true"], "one line"),
        (vec!["grant", "nobody", "state = {}"], "there are: relay, agent.echo"),
        (vec!["revoke", "relay", "publish"], "has no such grant"),
    ] {
        let ran = portcullis(&home, &words);
        assert!(ran.refused().contains(why), "{words:?}: {ran:?}");
        assert_eq!(text(&home), config, "{words:?}");
    }
    let idle = portcullis(&home, &["grant", "agent.echo", "state = {}", "--yes"]);
    assert!(idle.good().contains("`state` has no effect"), "{idle:?}");
}

#[test]
fn policy_test_decides_as_a_call_would() {
    let grants = r#"grants.agent-tools = ["echo.*"]"#;
    let home = home(&(plugin("relay", grants) + &agent("echo", "echo", "") + &plugin("keeper", "grants.state = {}")));
    let yes = asked(&home, "relay", "agent-tools echo.run");
    assert!(yes.good().contains("allowed: agent-tools `echo.run`, by portcullis.toml:3"), "{yes:?}");
    let no = asked(&home, "relay", "agent-tools notes.add");
    assert_eq!(no.status, Some(1));
    assert!(no.stdout.contains("To allow it: portcullis grant relay 'agent-tools = [\"notes.add\"]'"), "{no:?}");
    asked(&home, "keeper", "state").good();
    assert_eq!(asked(&home, "keeper", "scratch").status, Some(1));
    assert_eq!(asked(&home, "agent.echo", "http GET https://example.com/").status, Some(1));
    assert!(asked(&home, "keeper", "sing").refused().contains("is no question"));
    let shown = portcullis(&home, &["policy", "show"]);
    for part in [
        "[plugins.relay]",
        "requested",
        "granted    echo.*  (portcullis.toml:3)",
        "[agent.echo]",
        "nothing is granted: it can only compute",
    ] {
        assert!(shown.good().contains(part), "{part}: {}", shown.stdout);
    }
    let one = portcullis(&home, &["policy", "show", "keeper"]);
    assert!(one.good().contains("state") && !one.stdout.contains("relay"), "{one:?}");
}
