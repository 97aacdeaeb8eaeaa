//! `server.grants = "locked"`: what a running server takes up of changed grants before and after they are confirmed at a terminal.

use serde_json::json;
use suite::{Client, Home, PATIENCE, agent, at_terminal, eventually, plugin, portcullis};

const GRANT: &str = r#"agent-tools = ["echo.*"]"#;
const HELD_BACK: &str = "[plugins.relay] its new grants are not in force";

fn is_denied(client: &mut Client) -> bool {
    client.run("relay", json!({"path": "echo.run"})).text().contains("denied: ")
}

fn until(client: &mut Client, denied: bool) {
    let done = eventually(PATIENCE, || (is_denied(client) == denied).then_some(()));
    assert!(done.is_some(), "never denied = {denied}\n{}", client.server.log());
}

#[test]
fn new_grants_wait_for_a_person_and_revoked_ones_are_gone() {
    let config = "[server]\ngrants = \"locked\"\n".to_owned() + &plugin("relay", "") + &agent("echo", "echo", "");
    let mut client = Client::of(&config);
    let granted = portcullis(&client.server.home, &["grant", "relay", GRANT, "--yes"]);
    assert!(granted.good().contains("waits for `portcullis policy confirm`"), "{granted:?}");
    client.server.wait_for_log(HELD_BACK);
    assert!(is_denied(&mut client));

    // Not without a terminal, and not by a person who says no.
    let alone = portcullis(&client.server.home, &["policy", "confirm"]);
    assert!(alone.refused().contains("no terminal to ask at"), "{alone:?}");
    let option = portcullis(&client.server.home, &["policy", "confirm", "--yes"]);
    assert!(option.status == Some(2) && option.stderr.contains("unexpected argument"), "{option:?}");
    let no = at_terminal(&client.server.home, "n", &["policy", "confirm"]);
    assert!(no.status == Some(1) && no.stdout.contains("Nothing was confirmed"), "{no:?}");
    assert!(is_denied(&mut client));

    let yes = at_terminal(&client.server.home, "y", &["policy", "confirm"]);
    assert!(yes.good().contains("agent-tools") && yes.stdout.contains("echo.*"), "{yes:?}");
    until(&mut client, false);

    // What was revoked is new when it comes back: the confirmation was for once.
    portcullis(&client.server.home, &["revoke", "relay", "agent-tools", "--yes"]).good();
    until(&mut client, true);
    portcullis(&client.server.home, &["grant", "relay", GRANT, "--yes"]).good();
    eventually(PATIENCE, || (client.server.log().matches(HELD_BACK).count() == 2).then_some(())).unwrap();
    assert!(is_denied(&mut client));

    // Neither does a file that says otherwise unlock a server, nor one that differs from what was confirmed.
    let file = client.server.home.path().join("portcullis.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let more = plugin("keeper", "grants.state = {}\n");
    crate::reload::replace(&file, (text.replace("locked", "live") + &more).as_bytes());
    client.server.wait_for_log("`server.grants` has changed in ");
    client.server.wait_for_log("[plugins.keeper] its new grants are not in force");
    assert!(is_denied(&mut client));
}

#[test]
fn a_grant_wants_a_person_or_the_option() {
    let home = Home::new();
    let config = plugin("relay", "");
    home.write("portcullis.toml", &config);
    home.write("other.toml", &config);
    let text = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
    let alone = portcullis(&home, &["grant", "relay", GRANT, "--config", "other.toml"]);
    let command = format!("portcullis grant relay '{GRANT}' --config other.toml --yes");
    assert!(alone.refused().contains(&command) && text("other.toml") == config, "{alone:?}");
    // Every command that is printed is for the configuration that was asked about.
    let asked = portcullis(&home, &["policy", "test", "relay", "agent-tools echo.run", "--config", "other.toml"]);
    assert!(asked.stdout.trim_end().ends_with("'agent-tools = [\"echo.run\"]' --config other.toml"), "{asked:?}");
    let no = at_terminal(&home, "", &["grant", "relay", GRANT]);
    assert!(
        no.status == Some(1) && no.stdout.contains("Grant to relay: agent-tools") && text("portcullis.toml") == config
    );
    at_terminal(&home, "y", &["grant", "relay", GRANT]).good();
    let granted = text("portcullis.toml");
    assert!(granted.contains("echo.*"), "{granted}");
    let alone = portcullis(&home, &["revoke", "relay", "agent-tools"]);
    assert!(alone.refused().contains("portcullis revoke relay agent-tools --yes"), "{alone:?}");
    assert_eq!(text("portcullis.toml"), granted);
    at_terminal(&home, "y", &["revoke", "relay", "agent-tools"]).good();
    assert!(!text("portcullis.toml").contains("echo.*"));
}
