//! Publishing plugins to a registry.

use super::Stage;
use serde_json::Value;
use suite::minisign::Minisign;
use suite::web::Reply;
use suite::{Home, paths, portcullis};

fn guest() -> String {
    paths::guest("echo").display().to_string()
}

#[test]
fn a_component_is_packed_as_an_oci_artifact() {
    let home = Home::new();
    let ran = portcullis(&home, &["plugin", "pack", &guest(), "--out", "packed"]);
    let printed = ran.good().to_owned();
    let folder = home.path().join("packed");
    let read = |path: &str| std::fs::read(folder.join(path)).unwrap();
    let json = |path: &str| serde_json::from_slice::<Value>(&read(path)).unwrap();
    assert_eq!(json("oci-layout")["imageLayoutVersion"], "1.0.0");
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().to_owned();
        let bytes = read(&format!("blobs/{}", digest.replace(':', "/")));
        assert_eq!(
            (suite::registry::sha256(&bytes), bytes.len() as u64),
            (digest, descriptor["size"].as_u64().unwrap())
        );
        bytes
    };
    let manifest: Value = serde_json::from_slice(&blob(&json("index.json")["manifests"][0])).unwrap();
    assert_eq!(blob(&manifest["layers"][0]), std::fs::read(guest()).unwrap());
    let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
    assert_eq!(
        (&config["architecture"], &config["layerDigests"][0]),
        (&"wasm".into(), &manifest["layers"][0]["digest"])
    );
    assert!(config["component"]["exports"].to_string().contains("portcullis:plugin/tools"));
    assert!(printed.contains(manifest["layers"][0]["digest"].as_str().unwrap()), "{printed}");
    let again = portcullis(&home, &["plugin", "pack", &guest(), "--out", "packed"]);
    assert!(again.refused().contains("is not empty"));
    home.write("junk.wasm", "junk");
    assert!(portcullis(&home, &["plugin", "pack", "junk.wasm"]).refused().contains("not a plugin"));
}

#[test]
fn a_pushed_plugin_is_pulled_unchanged() {
    for listed_by_registry in [true, false] {
        let mut stage = Stage::new();
        stage.registry.demand("author", "canary-of-the-registry");
        if !listed_by_registry {
            stage.registry.forget_referrers();
        }
        stage.home.write("password", "canary-of-the-registry\n");
        let key = Minisign::key(7);
        stage.settings = format!(
            "user = \"author\"\npassword-file = \"password\"\nsignature = \"required\"\nkeys = [\"{}\"]",
            key.public()
        );
        stage.home.write("echo.minisig", key.sign(&stage.component, "anything"));
        stage.reference = stage.registry.reference("acme/new:2.0.0");
        assert!(stage.check().refused().contains("no manifest"));
        let (file, to) = (guest(), stage.reference.clone());
        let push = ["plugin", "push", &file, &to, "--signature", "echo.minisig"];
        let ran = portcullis(&stage.home, &push);
        let pinned = ran.good().lines().find_map(|line| line.strip_prefix("published as ")).unwrap().to_owned();
        assert!(stage.registry.kept("acme/new", "2.0.0").is_some());
        let fallback = pinned.split_once("@sha256:").unwrap().1;
        let kept = stage.registry.kept("acme/new", &format!("sha256-{fallback}"));
        assert_eq!(kept.is_some(), !listed_by_registry);
        for reference in [stage.reference.clone(), pinned] {
            stage.reference = reference;
            let ran = stage.check();
            assert!(ran.good().contains(&format!("signed by minisign:{}", key.public())), "{ran:?}");
        }
        // Push again when all blobs exist already.
        portcullis(&stage.home, &push).good();
    }
}

#[test]
fn a_plugins_folder_is_built_and_pushed_in_one_step() {
    let stage = Stage::new();
    portcullis(&stage.home, &["new", "weather", "--lang", "javascript"]).good();
    let to = stage.registry.reference("acme/weather:0.1.0");
    portcullis(&stage.home, &["plugin", "push", "weather", &to]).good();
    assert!(stage.registry.kept("acme/weather", "0.1.0").is_some());
    let built = std::fs::read(stage.home.path().join("weather/weather.wasm")).unwrap();
    let packed = portcullis(&stage.home, &["plugin", "pack", "weather", "--out", "packed"]);
    assert!(packed.good().contains("written to packed") && !built.is_empty(), "{packed:?}");
    // A signature is of bytes that are there.
    stage.home.write("weather.minisig", Minisign::key(7).sign(&built, "anything"));
    let signed = portcullis(&stage.home, &["plugin", "push", "weather", &to, "--signature", "weather.minisig"]);
    assert!(signed.refused().contains("portcullis build weather"), "{signed:?}");
    std::fs::write(stage.home.path().join("weather/plugin.js"), "import \"left-pad\";").unwrap();
    let broken = portcullis(&stage.home, &["plugin", "push", "weather", &stage.registry.reference("acme/broken:1")]);
    assert!(broken.refused().contains("left-pad") && stage.registry.kept("acme/broken", "1").is_none(), "{broken:?}");
}

#[test]
fn an_upload_goes_only_to_the_registry() {
    let sink = suite::web::Web::serve(|_| Reply::new(201, ""));
    let stage = Stage::new();
    let to = sink.url("/upload");
    stage.registry.lie(move |seen| match seen.method.as_str() {
        "HEAD" => Some(Reply::new(404, "")),
        "POST" => Some(Reply::new(202, "").with("Location", &to)),
        _ => None,
    });
    let ran = portcullis(&stage.home, &["plugin", "push", &guest(), &stage.reference]);
    assert!(ran.refused().contains("sends it to another host"), "{ran:?}");
    assert_eq!(sink.seen().len(), 0);
    for (to, words) in
        [("./echo.wasm", "not in a registry"), (&format!("{}@{}", stage.reference, stage.digest), "must be a tag")]
    {
        assert!(portcullis(&stage.home, &["plugin", "push", &guest(), to]).refused().contains(words));
    }
}

/// Tests against Debian's `docker-registry`, where it is installed: an independent implementation.
#[test]
fn the_debian_docker_registry_is_supported() {
    use std::process::{Command, Stdio};
    let program = std::env::var_os("PORTCULLIS_DOCKER_REGISTRY").unwrap_or_else(|| "docker-registry".into());
    let Ok(version) = Command::new(&program).arg("--version").output() else {
        return println!(
            "hostile: docker-registry: skipped: {} is not installed; Debian has a package of that name",
            program.display()
        );
    };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::new();
    let config = format!(
        "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {free}\n",
        home.path().join("registry").display()
    );
    home.write("registry.yml", &config);
    let mut serve = Command::new(&program);
    serve.args(["serve", "registry.yml"]).current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = serve.spawn().unwrap();
    let up = suite::eventually(suite::PATIENCE, || std::net::TcpStream::connect(free).ok());
    let key = Minisign::key(3);
    let table = format!("[sources.\"{free}\"]\nsignature = \"required\"\nkeys = [\"{}\"]\n", key.public());
    home.write("portcullis.toml", &table);
    home.write("echo.minisig", key.sign(&std::fs::read(guest()).unwrap(), "anything"));
    let reference = format!("oci://{free}/acme/echo:1.0.0");
    let pushed = portcullis(&home, &["plugin", "push", &guest(), &reference, "--signature", "echo.minisig"]);
    let checked = portcullis(&home, &["check", &reference]);
    let missing = portcullis(&home, &["check", &format!("oci://{free}/acme/none:1")]);
    let _ = child.kill();
    let _ = child.wait();
    assert!(up.is_some(), "{version:?}");
    pushed.good();
    assert!(checked.good().contains("signed by minisign:"), "{checked:?}");
    assert!(missing.refused().contains("no manifest"), "{missing:?}");
    println!("hostile: docker-registry: 3 of 3 exchanges (push, pull, miss) as with our own");
}
