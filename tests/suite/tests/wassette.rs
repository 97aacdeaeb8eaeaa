//! Components as Wassette has them: they run unchanged, with what their policies allowed.

use serde_json::json;
use std::fs;
use suite::web::{Reply, Web};
use suite::{Client, Home, Server, paths, portcullis};

fn policy(permissions: &str) -> String {
    format!("version: \"1.0\"\ndescription: \"Permission policy\"\npermissions:\n{permissions}")
}

#[test]
fn components_of_wassette_run_with_what_their_policies_allow() {
    let home = Home::new();
    home.write("portcullis.toml", "");
    let web = Web::serve(|seen| Reply::new(200, format!("body of {}", seen.path())));
    let other = Web::serve(|_| Reply::new(200, "not for you"));
    let component = |guest: &str, permissions: &str| {
        let example = guest.trim_start_matches("wassette-");
        let (component, name) = (paths::guest(guest), format!("{example}.yaml"));
        home.write(&name, policy(permissions));
        let component = component.display().to_string();
        let arguments = ["import", "wassette", &component, &name, "--name", example, "--write", "--yes"];
        let ran = portcullis(&home, &arguments);
        assert!(ran.good().contains(&format!("[plugins.{example}] is in portcullis.toml")), "{ran:?}");
    };
    component("wassette-fetch", &format!("  network:\n    allow:\n      - host: \"{}\"\n", web.url("/news/")));
    let folder = home.work().display().to_string();
    component(
        "wassette-files",
        &format!("  storage:\n    allow:\n      - uri: \"fs://{folder}\"\n        access: [\"read\"]\n"),
    );
    component("wassette-time", "  environment:\n    allow:\n      - key: \"GOPROXY\"\n");
    component("wassette-eval", "  {}\n");
    component("wassette-weather", "  environment:\n    allow:\n      - key: \"UNITS\"\n      - key: \"UNSET\"\n");
    let config = fs::read_to_string(home.path().join("portcullis.toml")).unwrap();
    let server = Server::spawn(home, &config, &[], |command| {
        command.env("GOPROXY", "https://proxy.example").env("UNITS", "K").env("HIDDEN", "1");
    });
    server.wait_until_loaded();
    let mut client = Client::of_server(server);
    let mut call = |tool: &str, arguments| client.call(tool, arguments);
    assert_eq!(call("fetch__fetch", json!({"url": web.url("/news/today")})).good(), "body of /news/today");
    for elsewhere in [web.url("/private"), other.url("/news/")] {
        let refused = call("fetch__fetch", json!({"url": elsewhere}));
        assert!(refused.is_error() && refused.text().contains("HttpRequestDenied"), "{}", refused.text());
    }
    assert_eq!(other.seen().len(), 0);
    let listed = call("files__list-directory", json!({"path": format!("{folder}/sub")}));
    assert_eq!(listed.result()["structuredContent"], json!({"result": ["[FILE] folder-link"]}));
    assert_eq!(call("files__read-file", json!({"path": format!("{folder}/inside.txt")})).good(), "inside");
    let found = call("files__search-file", json!({"path": folder, "pattern": "inside"}));
    assert_eq!(found.good(), format!("{folder}/inside.txt"));
    let info = call("files__get-file-info", json!({"path": format!("{folder}/inside.txt")}));
    assert_eq!(info.good(), "6 bytes");
    let outside = format!("{folder}/../outside/secret.txt");
    for path in [outside.as_str(), "/etc/passwd", &format!("{folder}/relative-link")] {
        assert!(call("files__read-file", json!({"path": path})).is_error(), "{path}");
    }
    assert!(call("time__time-get-current-time", json!({})).good().parse::<u64>().unwrap() > 1_700_000_000);
    let info = call("time__gomodule-get-module-info", json!({"module-names": "a/b"}));
    assert_eq!(info.good(), "a/b from https://proxy.example");
    let versions = call("time__gomodule-get-latest-versions", json!({"module-names": "a,b"}));
    assert_eq!(versions.good(), "a: v1.0.0\nb: v1.0.0");
    let weather = call("weather__get-weather", json!({"city": "Lisbon"}));
    assert_eq!(weather.good(), "Lisbon: 20 K, None, 1 settings");
    assert_eq!(call("eval__eval", json!({"expression": "1 + 2"})).good(), "3");
    assert_eq!(call("eval__exec", json!({"statements": "1+1\n2+2"})).good(), "2\n4");
    let failed = call("eval__eval", json!({"expression": "x"}));
    assert!(failed.is_error() && failed.text().contains("invalid digit"), "{}", failed.text());
}

#[test]
fn what_is_left_out_is_said_before_anything_is_written() {
    let home = Home::new();
    home.write("portcullis.toml", "# mine\n[server]\nreload = true\n");
    let file = || fs::read_to_string(home.path().join("portcullis.toml")).unwrap();
    let component = paths::guest("wassette-eval").display().to_string();
    home.write("p.yaml", policy("  network:\n    allow:\n      - host: api.example.com\n      - cidr: 10.0.0.0/8\n"));
    let import = |more: &[&str]| portcullis(&home, &[&["import", "wassette", &component, "p.yaml"], more].concat());
    let printed = import(&[]);
    assert!(
        printed.good().contains("[plugins.wassette-eval.grants]") && printed.stdout.contains("https://api.example.com")
    );
    assert!(printed.stderr.contains("left out: p.yaml: line 7: `10.0.0.0/8` is not granted"), "{printed:?}");
    let refused = import(&["--write", "--yes"]);
    assert!(refused.refused().contains("1 parts of the policy would be left out"), "{refused:?}");
    let asked = import(&["--write", "--partial"]);
    assert!(asked.refused().contains("there is no terminal to ask at"), "{asked:?}");
    assert_eq!(file(), "# mine\n[server]\nreload = true\n");
    assert!(!home.path().join("wassette-eval.wasm").exists());
    import(&["--write", "--partial", "--yes"]).good();
    assert!(
        file().starts_with("# mine\n[server]\nreload = true\n") && file().contains("source = \"wassette-eval.wasm\"")
    );
    let shown = portcullis(&home, &["plugin", "manifest", "wassette-eval.wasm"]);
    assert!(
        shown.good().contains("https://api.example.com") && shown.stdout.contains("Permission policy"),
        "{shown:?}"
    );
    for (again, why) in [
        (import(&["--write", "--partial", "--yes"]), "there is a plugin wassette-eval already"),
        (import(&["--write", "--partial", "--yes", "--name", "b", "--output", "p.yaml"]), "there is "),
        (import(&["--name", "no name"]), "choose another name"),
        (portcullis(&home, &["import", "wassette", "wassette-eval.wasm", "p.yaml"]), "has a manifest already"),
        (portcullis(&home, &["import", "wassette", &component, "portcullis.toml"]), "portcullis.toml"),
    ] {
        assert!(again.refused().contains(why), "{why}: {again:?}");
    }
    home.write("bomb.yaml", "a: &a [x, x]\nb: &b [*a, *a]\n");
    let bomb = portcullis(&home, &["import", "wassette", &component, "bomb.yaml"]);
    assert!(bomb.refused().contains("line 1: anchors are not read"), "{bomb:?}");
}
