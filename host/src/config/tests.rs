//! Accepted configurations, and the errors for invalid ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use policy::Limits;
use services::model::ModelSettings;
use std::path::Path;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("p.toml"), Path::new("/base"))
}

#[test]
fn the_example_has_every_key_with_its_default() {
    let config = parse(EXAMPLE).unwrap();
    assert_eq!(*config.plugins[0].limits, Limits::default());
    assert_eq!(config.plugins[0].source, Path::new("/base/target/plugins/files.wasm"));
    assert_eq!(config.plugins[0].grants.filesystem[0].host, Path::new("/base/."));
    assert_eq!(config.agent[0].id.table(), "agent.notes");
    // For an unknown key serde lists all keys of the table.
    for (text, table) in [
        ("[server]\nx=1", "server"),
        ("[telemetry]\nx=1", "telemetry"),
        ("[server.audit]\nx=1", "server.audit"),
        ("[server.auth]\nx=1", "server.auth"),
        ("[server.auth.oauth]\nx=1", "server.auth.oauth"),
        ("[server.auth.oauth.login]\nx=1", "server.auth.oauth.login"),
        ("[connections.a]\nx=1", "connections"),
        ("[secrets.a]\nx=1", "secrets"),
        ("[model]\nx=1", "model"),
        ("[stand-in]\nx=1", "stand-in"),
        ("[upstream.a]\nx=1", "upstream"),
        ("[sources.a]\nx=1", "sources"),
        ("[plugins.a.limits]\nx=1", "limits"),
        ("[plugins.a.grants]\nx=1", "grants"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        let keys = message.split("expected one of ").nth(1).or_else(|| message.split("expected ").nth(1)).unwrap();
        for key in keys.split('`').skip(1).step_by(2) {
            let named = |ending| EXAMPLE.contains(&format!("{key}{ending}"));
            assert!(named(" =") || named(".") || named("]"), "[{table}] {key} is not in the example");
        }
    }
}

/// Optional tables are commented out without a space; they must be valid too.
#[test]
fn the_commented_part_of_the_example_is_valid() {
    let lines = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') => rest,
        _ => line,
    });
    let config = parse(&lines.collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(config.auth.keys.unwrap(), Path::new("/base/keys.toml"));
    assert_eq!(config.connections["github"].client_secret_file.as_deref(), Some(Path::new("/base/github.secret")));
    let secret = config.secrets["example"].clone();
    assert_eq!(secret, platform::secrets::SecretSource::File("/base/example.secret".into()));
    let oauth = config.auth.oauth.unwrap();
    assert_eq!(oauth.required_scopes, ["tools"]);
    assert_eq!(oauth.login.unwrap().client_secret_file.as_deref(), Some(Path::new("/base/login.secret")));
    let (model, least) = (config.model.unwrap(), parse("[model]\nurl = \"http://[::1]\"\nname = \"m\"").unwrap());
    assert_eq!(model.key_file.as_deref(), Some(Path::new("/base/model.key")));
    let source = config.sources.lookup("registry.example.com/acme/files");
    assert_eq!(source.password_file.as_deref(), Some(Path::new("/base/registry.password")));
    assert_eq!(source.trusted_root.as_deref(), Some(Path::new("/base/trusted-root.json")));
    assert_eq!(source.cosign_keys, [Path::new("/base/cosign.pub")]);
    let [search, tracker] = &config.upstreams[..] else { panic!("not two servers") };
    assert_eq!(
        (search.request_timeout(), search.exposes("find_x"), search.exposes("x")),
        (std::time::Duration::from_secs(60), true, false)
    );
    assert!(tracker.command.len() == 2 && tracker.exposes("x") && tracker.offer[0].covers("notes.add"));
    let rest = |model: &ModelSettings| (model.max_tokens, model.calls_per_minute, model.timeout);
    assert_eq!(rest(&model), rest(&least.model.unwrap()));
}

#[test]
fn errors_name_the_file_and_the_problem() {
    for (text, expected) in [
        ("[server]\nport = 1", "unknown field `port`"),
        ("[plugins.a]\nsource = \"a\"\n[plugins.a.grants]\nnetwork = true", "unknown field `network`"),
        ("[plugins.a]\nsource = \"a\"\nlimits.memory = \"2 GiB\"", "[plugins.a] limits.memory"),
        ("[plugins.a]\nsource = \"a\"\nlimits.memory = \"lots\"", "memory"),
        ("[plugins.\"a b\"]\nsource = \"a\"", "the name must be"),
        ("[plugins.a__b]\nsource = \"a\"", "the name must be"),
        (
            "[plugins.a]\nsource = \"a\"\ngrants.filesystem = [{ host = \".\", guest = \"src\", access = \"read\" }]",
            "absolute",
        ),
        (
            "[plugins.a]\nsource = \"a\"\ngrants.filesystem = [{ host = \".\", guest = \"/s\", access = \"all\" }]",
            "unknown variant `all`",
        ),
        ("[plugins.a]\nsource = \"a\"\ngrants.agent-tools = [\"*\"]", "no `.` between"),
        ("[connections.a]\nclient-id = \"\"\nauthorize = \"http://a.example\"", "write an https://"),
        (
            "[connections.a]\nclient-id = \"\"\nauthorize = \"https://a.example\"\ntoken = \"https://a.example\"\napi = \"https://a.example\"",
            "[connections.a] client-id",
        ),
        ("[server.auth.oauth]\nissuer = \"https://a.example\"", "give this server's public address as `resource`"),
        ("[server.auth.oauth]\nissuer = \"http://a.example\"\naudience = \"https://b.example\"", "write an https://"),
        (
            "[server.auth.oauth]\nissuer = \"https://a.example\"\naudience = \"https://b.example\"\nrequired-scopes = [\"a b\"]",
            "[server.auth] oauth.required-scopes",
        ),
        (
            "[server.auth.oauth]\nissuer = \"https://a.example\"\naudience = \"https://b.example\"\n[server.auth.oauth.login]\nauthorize = \"https://a.example\"\ntoken = \"https://a.example\"\nclient-id = \"\"",
            "[server.auth] oauth.login.client-id",
        ),
        ("[model]\nurl = \"http://10.0.0.1/v1\"\nname = \"m\"", "write an https://"),
        ("[model]\nurl = \"https://k:s@a.example/v1\"\nname = \"m\"", "without user"),
        ("[model]\nurl = \"https://a.example/v1\"", "missing field `name`"),
        ("[model]\nurl = \"https://a.example/v1\"\nname = \"\"", "[model] name"),
        ("[model]\nurl = \"https://a.example/v1/chat/completions\"\nname = \"m\"", "[model] url must end before"),
        ("[model]\nurl = \"https://a.example\"\nname = \"m\"\nmax-tokens = 0", "[model] max-tokens"),
        ("[model]\nurl = \"https://a.example\"\nname = \"m\"\ncalls-per-minute = 0", "[model] calls-per-minute"),
        ("[model]\nurl = \"https://a.example\"\nname = \"m\"\ntimeout = \"2h\"", "[model] timeout"),
        ("[sources.\"r.example\"]\nsignature = \"required\"", "[sources.\"r.example\"] signature"),
        ("[sources.\"https://r.example\"]\nprivate = true", "name a host"),
        ("[plugins.a]\n", "missing field `source`"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n{message}");
        assert!(message.starts_with("p.toml: "), "{message}");
    }
}

#[test]
fn an_upstream_server_needs_a_unique_name() {
    let upstream = "[upstream.far]\ncommand = [\"server\"]\nkey-file = \"k\"\n";
    let message = parse(upstream).unwrap_err().to_string();
    assert!(message.contains("[upstream.far]") && message.contains("key-file"), "{message}");
    let there = "[upstream.far]\nurl = \"https://far.example/mcp\"\nkey-file = \"k\"\n";
    assert_eq!(parse(there).unwrap().upstreams[0].key_file.as_deref(), Some(Path::new("/base/k")));
    for side in ["plugins", "agent"] {
        let message = parse(&format!("{there}[{side}.far]\nsource = \"x\"\n")).unwrap_err().to_string();
        assert!(message.contains("the same name"), "{message}");
    }
    assert!(parse("[upstream.a__b]\ncommand = [\"x\"]\n").is_err());
}

/// Such as from `--config <(...)`: a second read would find the pipe empty.
#[cfg(target_os = "linux")]
#[test]
fn what_comes_through_a_pipe_is_read_once() {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"[plugins.a]\nsource = \"a.wasm\"\n").unwrap();
    drop(writer);
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    let config = Config::load(Path::new(&path)).unwrap();
    assert_eq!((config.plugins.len(), config.file, config.lockfile), (1, None, None));
    assert_eq!(config.plugins[0].source, std::env::current_dir().unwrap().join("a.wasm"));
    let Err(refused) = super::ConfigEditor::open(Path::new(&path)) else { panic!("it was opened") };
    assert!(refused.to_string().contains("it is no file that can be changed"), "{refused}");
}
