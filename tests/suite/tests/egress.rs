//! HTTP requests of guests to other servers: which are sent, which are refused, and what is returned.

use serde_json::json;
use std::time::Duration;
use suite::web::{Reply, Seen, Web};
use suite::{Called, Client, Home, PATIENCE, Server, eventually, paths, plugin, plugin_from, with_manifest};

const CANARY: &str = "canary-b52f60d1c9e8";

/// A web server, and a host whose guest `fetcher` may use it.
struct World {
    web: Web,
    client: Client,
}

/// The guest with a manifest that requests what the test needs; the port is only known at run time.
fn fetcher(home: &Home, requests: &serde_json::Value) -> std::path::PathBuf {
    let manifest = json!({"name": "fetcher", "version": "0.1.0", "requests": requests});
    let component = with_manifest(std::fs::read(paths::guest("fetcher")).unwrap(), &manifest);
    let path = home.path().join("fetcher.wasm");
    std::fs::write(&path, component).unwrap();
    path
}

impl World {
    /// `grants` are lines of TOML, with `PORT` for the server's port.
    fn new(grants: &str, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::with_secret(grants, answer, true)
    }

    /// `is_set`: whether its secret is.
    fn with_secret(grants: &str, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static, is_set: bool) -> Self {
        let web = Web::serve(answer);
        let port = web.address.port();
        let home = Home::new();
        let both = |host: &str| format!("GET,POST http://{host}:{port}");
        let requests = json!({
            "http": [both("127.0.0.1"), both("localhost"), "GET http://169.254.169.254", "GET https://*"],
            "secrets": ["key"],
        });
        let source = fetcher(&home, &requests);
        if is_set {
            home.write("key.secret", CANARY);
        }
        let settings = format!("limits.deadline = \"5s\"\n{}", grants.replace("PORT", &port.to_string()));
        let config = plugin_from("fetcher", &source, &settings) + "[secrets.key]\nfile = \"key.secret\"\n";
        let client = Client::of_server(Server::start_in(home, &config));
        Self { web, client }
    }

    fn run(&mut self, request: &str) -> Called {
        self.send(request, 0)
    }

    fn send(&mut self, request: &str, bytes: u64) -> Called {
        let request = request.replace("PORT", &self.web.address.port().to_string());
        self.client.run("fetcher", json!({"path": request, "n": bytes}))
    }
}

const OPEN: &str = r#"grants.http = [{ allow = "GET,POST http://127.0.0.1:PORT", private = true, body = "64 KiB", timeout = "2s", redirects = 1 }]"#;

fn hello(seen: &Seen) -> Reply {
    match seen.path() {
        "/large" => Reply::new(200, vec![b'x'; 70_000]),
        "/metadata" => Reply::redirect("http://169.254.169.254/latest/meta-data/"),
        "/local" => {
            Reply::redirect(&format!("http://localhost:{}/", seen.header("host").unwrap().rsplit(':').next().unwrap()))
        }
        "/echo" => Reply::new(200, seen.everything()).with("X-Echo", seen.header("authorization").unwrap_or("nothing")),
        "/slow" => {
            std::thread::sleep(Duration::from_millis(500));
            Reply::new(200, "late")
        }
        _ => Reply::new(200, format!("hello {} {}", seen.method, seen.body.len())),
    }
}

#[test]
fn a_granted_request_is_sent_and_answered() {
    let mut world = World::new(OPEN, hello);
    assert!(world.run("GET http://127.0.0.1:PORT/a?b=c\nX-Mine: 1").good().ends_with("11 bytes: hello GET 0"));
    let seen = world.web.seen();
    assert_eq!((seen[0].target.as_str(), seen[0].header("x-mine")), ("/a?b=c", Some("1")));
    assert!(seen[0].header("host").unwrap().starts_with("127.0.0.1:"));
    let posted = world.send("POST http://127.0.0.1:PORT/\nContent-Length: 10000", 10_000).good();
    assert!(posted.contains("hello POST 10000"), "{posted}");
    // A guest cannot set the headers that the host controls.
    for header in
        ["Host: evil.example", "Connection: upgrade", "Transfer-Encoding: chunked", "Proxy-Foo: 1", "Expect: x"]
    {
        let refused = world.run(&format!("GET http://127.0.0.1:PORT/\n{header}"));
        assert!(refused.is_error() && refused.text().contains("Forbidden"), "{header}: {}", refused.text());
    }
}

#[test]
fn without_a_grant_nothing_is_sent() {
    let mut world = World::new("", hello);
    let denied = world.run("GET http://127.0.0.1:PORT/");
    let text = denied.text();
    assert!(denied.is_error() && text.contains("HttpRequestDenied"), "{text}");
    assert!(text.contains("denied: http `GET http://127.0.0.1:") && text.contains("is not granted"), "{text}");
    assert!(text.contains("Ask the user") && !text.contains("portcullis grant"), "{text}");
    assert_eq!(world.web.seen().len(), 0);
    // A grant has no effect if the plugin's manifest does not request it.
    let settings = format!("{}\n", OPEN.replace("PORT", &world.web.address.port().to_string()));
    let mut client = Client::of(&plugin("fetcher", &settings));
    let path = world.web.url("/");
    let denied = client.run("fetcher", json!({"path": format!("GET {path}")}));
    assert!(denied.text().contains("is not requested by the plugin"), "{}", denied.text());
    assert_eq!(world.web.seen().len(), 0);
}

#[test]
fn private_addresses_need_an_explicit_grant() {
    let closed = r#"grants.http = [{ allow = "http://127.0.0.1:PORT" }, { allow = "http://localhost:PORT" }]"#;
    let mut world = World::new(closed, hello);
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "%31%32%37.0.0.1"] {
        let denied = world.run(&format!("GET http://{host}:PORT/"));
        assert!(denied.is_error(), "{host}: {}", denied.text());
    }
    let text = world.run("GET http://localhost:PORT/").text();
    assert!(
        text.contains("leads into a private network or to this machine") && text.contains("Ask the user"),
        "{text}"
    );
    world.client.server.wait_for_log("put `private = true` into the line");
    assert_eq!(world.web.seen().len(), 0);
}

#[test]
fn a_redirect_target_needs_its_own_grant() {
    let metadata = r#", { allow = "http://169.254.169.254" }]"#;
    let mut world = World::new(&OPEN.replace(']', metadata), hello);
    let text = world.run("GET http://127.0.0.1:PORT/metadata").text();
    assert!(text.contains("HttpRequestDenied") && text.contains("no plugin may reach"), "{text}");
    let text = world.run("GET http://127.0.0.1:PORT/local").text();
    assert!(text.contains("denied: http `GET http://localhost:") && text.contains("is not granted"), "{text}");
    assert_eq!((world.web.count("/"), world.web.count("/local")), (0, 1));
}

#[test]
fn body_sizes_and_timeouts_are_enforced() {
    let mut world = World::new(OPEN, hello);
    let text = world.run("GET http://127.0.0.1:PORT/large").text();
    assert!(text.contains("HttpResponseBodySize(Some(65536))"), "{text}");
    let text = world.send("POST http://127.0.0.1:PORT/\nContent-Length: 100000", 100_000).text();
    assert!(text.contains("HttpRequestBodySize(Some(65536))"), "{text}");
    let text = world.run("hurry\nGET http://127.0.0.1:PORT/slow").text();
    assert!(text.contains("HttpResponseTimeout"), "{text}");
    assert!(world.run("GET http://127.0.0.1:PORT/slow").good().contains("late"));
    // A guest that ends early leaves no connection open.
    assert_eq!(world.run("leave\nGET http://127.0.0.1:PORT/slow").good(), "left");
    assert!(world.run("hold\nGET http://127.0.0.1:PORT/").good().starts_with("200"));
    let id = world.client.server.id();
    let port = format!(":{:04X} ", world.web.address.port());
    let gone = eventually(PATIENCE, || {
        let sockets = std::fs::read_to_string(format!("/proc/{id}/net/tcp")).ok()?;
        // State 01 is an established connection.
        let open = sockets
            .lines()
            .filter(|line| line.split_whitespace().nth(2).is_some_and(|to| format!("{to} ").ends_with(&port)));
        (open.filter(|line| line.split_whitespace().nth(3) == Some("01")).count() == 0).then_some(())
    });
    assert!(gone.is_some(), "a connection is still open");
}

#[test]
fn a_secret_is_sent_only_to_its_own_host() {
    let grants = format!("{OPEN}\ngrants.secrets = [{{ name = \"key\", hosts = [\"HOST\"] }}]");
    // The secret's host must be a name.
    let told = grants.replace("http://127.0.0.1", "http://localhost").replace("HOST", "localhost");
    let mut world = World::new(&told, hello);
    let said = world.run("GET http://localhost:PORT/echo\nAuthorization: Bearer {{secret:key}}").good();
    assert_eq!(world.web.seen()[0].header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert!(said.contains("Bearer ****") && !said.contains(CANARY), "{said}");
    // The secret is not sent in a URL, and not to a host that is not listed.
    world.run("GET http://localhost:PORT/echo?q={{secret:key}}");
    let other = world.run("GET http://localhost:PORT/\nX-Key: {{secret:other}}").text();
    assert!(other.contains("denied: secrets `other`"), "{other}");
    let mut elsewhere = World::new(&grants.replace("HOST", "api.example.com"), hello);
    let denied = elsewhere.run("GET http://127.0.0.1:PORT/\nX-Key: {{secret:key}}").text();
    assert!(denied.contains("denied: secrets `key` is not granted for this host"), "{denied}");
    assert_eq!(elsewhere.web.seen().len(), 0);
    for world in [&world, &elsewhere] {
        assert!(!world.client.server.log().contains(CANARY), "the log has the secret");
    }
    let arrived = world.web.seen().iter().filter(|seen| seen.everything().contains(CANARY)).count();
    assert_eq!(arrived, 1);
}

#[test]
fn a_secret_that_is_not_set_stops_only_the_calls_that_need_it() {
    let grants = format!("{OPEN}\ngrants.secrets = [{{ name = \"key\", hosts = [\"localhost\"] }}]");
    let grants = grants.replace("http://127.0.0.1", "http://localhost");
    let mut world = World::with_secret(&grants, hello, false);
    world.run("GET http://localhost:PORT/").good();
    let failed = world.run("GET http://localhost:PORT/\nX-Key: {{secret:key}}").text();
    assert!(failed.contains("the secret `key` is not set. Ask the user"), "{failed}");
    assert!(!failed.contains("key.secret") && !failed.contains("portcullis"), "{failed}");
    assert_eq!(world.web.seen().len(), 1);
    for told in [
        "[secrets.key] cannot read the file",
        "`portcullis secret set key` sets it. Until then, calls that send it fail",
    ] {
        world.client.server.wait_for_log(told);
    }
}

#[test]
fn a_secret_is_set_by_a_command() {
    let home = Home::new();
    let file = home.write("portcullis.toml", plugin("echo", "")).display().to_string();
    let run = |arguments: &[&str], typed: &str| {
        let mut command = std::process::Command::new("bash");
        command.args(["-c", "printf %s \"$TYPED\" | \"$0\" secret \"$@\""]).arg(paths::binary()).args(arguments);
        command.args(["--config", &file]).current_dir(home.path()).env("TYPED", typed);
        suite::cli::run(command)
    };
    assert!(run(&["set", "key"], "short\n").refused().contains("[secrets.key] the secret must be of 8"));
    assert!(run(&["set", "k e y"], CANARY).refused().contains("the name must be"));
    assert!(!home.path().join("secrets").exists() && !std::fs::read_to_string(&file).unwrap().contains("secrets"));
    let set = run(&["set", "key"], &format!("{CANARY}\n"));
    assert!(set.good().contains("key is set") && set.stdout.contains("No plugin may send it yet"), "{set:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("[secrets.key]\nfile = \"secrets/key\"\n") && !text.contains(CANARY), "{text}");
    let read = |name: &str| std::fs::read_to_string(home.path().join("secrets").join(name)).unwrap();
    assert_eq!((read("key"), read(".gitignore")), (format!("{CANARY}\n"), "*\n".to_owned()));
    let another = CANARY.to_uppercase();
    run(&["set", "key"], &another).good();
    assert_eq!(read("key"), another + "\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let typed = suite::cli::at_terminal(&home, "canary-c7a1", &["secret", "set", "key", "--config", &file]);
    assert!(typed.good().contains("it is not shown") && !typed.stdout.contains("canary-c7a1"), "{typed:?}");
    assert_eq!(read("key"), "canary-c7a1\n");
    let listed = run(&["list"], "");
    assert!(listed.good().starts_with("key  ") && !listed.stdout.contains("canary"), "{listed:?}");
    std::fs::remove_file(home.path().join("secrets/key")).unwrap();
    let listed = run(&["list"], "");
    assert!(
        listed.status == Some(1) && listed.stdout.contains("  not set: [secrets.key] cannot read the file"),
        "{listed:?}"
    );
    // Both may come with a repository that somebody else has made.
    std::fs::remove_file(home.path().join("secrets/.gitignore")).unwrap();
    std::os::unix::fs::symlink(home.path().join("elsewhere"), home.path().join("secrets/.gitignore")).unwrap();
    assert!(run(&["set", "more"], CANARY).good().contains("more is set") && !home.path().join("elsewhere").exists());
    std::fs::rename(home.path().join("secrets"), home.path().join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", home.path().join("secrets")).unwrap();
    assert!(run(&["set", "third"], CANARY).refused().contains("is a link"));
    assert!(!home.path().join("moved/third").exists());
    // The folder of a fresh clone is missing.
    std::fs::remove_file(home.path().join("secrets")).unwrap();
    run(&["set", "key"], CANARY).good();
    let variable = home.write("other.toml", "[secrets.key]\nenv = \"K\"\n").display().to_string();
    let refused = suite::portcullis(&home, &["secret", "set", "key", "--config", &variable]);
    assert!(refused.refused().contains("the variable K: set that"), "{refused:?}");
}
