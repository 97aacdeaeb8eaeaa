//! Whose data a plugin finds: that of its own configuration and its own source, and no other.

use std::fs;
use std::path::Path;
use std::process::Command;
use suite::cli::run;
use suite::{Home, Ran, paths, plugin};

/// Runs `portcullis` in a folder of this user, whose state folder nobody has named.
fn portcullis(home: &Home, folder: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(paths::binary());
    command.args(arguments).current_dir(home.path().join(folder)).env("PORTCULLIS_CACHE", paths::cache());
    command.env_remove("PORTCULLIS_STATE").env("XDG_STATE_HOME", home.path().join("xdg"));
    run(command)
}

fn keep(home: &Home, folder: &str, plugin: &str, what: &str) -> String {
    portcullis(home, folder, &["call", plugin, "run", &format!("path={what}")]).good().trim().to_owned()
}

fn configure(home: &Home, folder: &str, text: &str) {
    fs::create_dir_all(home.path().join(folder)).unwrap();
    home.write(&format!("{folder}/portcullis.toml"), text);
}

fn folders(home: &Home) -> Vec<String> {
    let all = fs::read_dir(home.path().join("xdg/portcullis/configurations")).into_iter().flatten().flatten();
    let mut names: Vec<_> = all.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn configurations_of_one_user_share_nothing() {
    let home = Home::new();
    let config = plugin("keeper", "grants.state = {}");
    configure(&home, "shopping", &config);
    configure(&home, "other", &config);
    keep(&home, "shopping", "keeper", "set k v");
    assert_eq!(keep(&home, "other", "keeper", "get k"), "nothing");
    assert_eq!(keep(&home, "shopping", "keeper", "get k"), "v");
    let names = folders(&home);
    assert!(names.len() == 2 && names[0].starts_with("other-") && names[1].starts_with("shopping-"), "{names:?}");
    let journal = |folder: &str| portcullis(&home, folder, &["audit", "export"]).good().lines().count();
    assert!(journal("shopping") > journal("other"), "one has two calls, the other one");

    // Moved, it begins anew, and says where its data is.
    fs::rename(home.path().join("shopping"), home.path().join("moved")).unwrap();
    let moved = portcullis(&home, "moved", &["call", "keeper", "run", "path=get k"]);
    assert_eq!(moved.good().trim(), "nothing");
    let earlier = home.path().canonicalize().unwrap().join("shopping/portcullis.toml").display().to_string();
    let listed = portcullis(&home, "moved", &["storage", "list"]);
    assert!(listed.good().contains(&format!("{earlier}, which is gone")), "{listed:?}");
    let refused = portcullis(&home, "other", &["storage", "adopt", "../moved/portcullis.toml"]);
    assert!(refused.refused().contains("is still there"), "{refused:?}");
    assert!(portcullis(&home, "moved", &["storage", "adopt", "nowhere.toml"]).refused().contains("storage list"));
    let adopted = portcullis(&home, "moved", &["storage", "adopt", &earlier]);
    assert!(adopted.good().contains(".replaced-1"), "what it had meanwhile is not lost: {adopted:?}");
    assert_eq!(keep(&home, "moved", "keeper", "get k"), "v");
    assert_eq!(keep(&home, "other", "keeper", "get k"), "nothing");

    // What is kept of a configuration that is gone can be removed, and of no other.
    fs::remove_dir_all(home.path().join("other")).unwrap();
    let other = home.path().canonicalize().unwrap().join("other/portcullis.toml").display().to_string();
    let before = folders(&home);
    assert!(
        portcullis(&home, "moved", &["storage", "remove", "portcullis.toml", "--yes"])
            .refused()
            .contains("still there")
    );
    assert!(portcullis(&home, "moved", &["storage", "remove", &other]).refused().contains("--yes"));
    portcullis(&home, "moved", &["storage", "remove", "../other/portcullis.toml", "--yes"]).good();
    assert!(before.len() == folders(&home).len() + 1 && !folders(&home).iter().any(|name| name.starts_with("other-")));
    assert_eq!(keep(&home, "moved", "keeper", "get k"), "v");
}

#[test]
fn a_configuration_that_is_no_file_keeps_nothing() {
    let home = Home::new();
    configure(&home, "piped", &plugin("keeper", "grants.state = {}"));
    let mut command = Command::new("bash");
    command
        .args(["-c", "exec \"$0\" call --config <(cat portcullis.toml) keeper run 'path=set k v'"])
        .arg(paths::binary());
    command.current_dir(home.path().join("piped")).env("PORTCULLIS_CACHE", paths::cache());
    command.env_remove("PORTCULLIS_STATE").env("XDG_STATE_HOME", home.path().join("xdg"));
    let ran = run(command);
    assert!(!ran.refused().is_empty() && ran.stdout.contains("no state folder"), "{ran:?}");
    assert!(folders(&home).is_empty(), "{:?}", folders(&home));
}

#[test]
fn what_earlier_versions_kept_for_all_belongs_to_the_first_that_uses_it() {
    let home = Home::new();
    let config = plugin("keeper", "grants.state = {}");
    configure(&home, "one", &config);
    configure(&home, "other", &config);
    let mut earlier = Command::new(paths::binary());
    earlier.args(["call", "keeper", "run", "path=set k v"]).current_dir(home.path().join("one"));
    earlier.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("xdg/portcullis"));
    run(earlier).good();
    assert_eq!(keep(&home, "one", "keeper", "get k"), "v");
    let first = portcullis(&home, "other", &["call", "keeper", "run", "path=get k"]);
    assert_eq!(first.good().trim(), "nothing");
    assert!(first.stderr.contains("begins without data") && first.stderr.contains("one/portcullis.toml"), "{first:?}");
    assert!(!portcullis(&home, "other", &["call", "keeper", "run", "path=get k"]).stderr.contains("begins without"));
    assert_eq!(keep(&home, "one", "keeper", "get k"), "v");
}

/// The shared folder had the components of all configurations.
#[test]
fn installed_plugins_are_there_after_the_folder_was_shared() {
    let home = Home::new();
    publish(&home, "acme");
    for folder in ["one", "other"] {
        configure(&home, folder, "");
        let mut earlier = Command::new(paths::binary());
        earlier.args(["plugin", "install", "../acme/keeper.wasm", "--yes", "--yes-grant", "state = {}"]);
        earlier.current_dir(home.path().join(folder)).env("PORTCULLIS_CACHE", paths::cache());
        earlier.env("PORTCULLIS_STATE", home.path().join("xdg/portcullis"));
        run(earlier).good();
    }
    fs::remove_dir_all(home.path().join("acme")).unwrap();
    keep(&home, "one", "keeper", "set k v");
    assert_eq!(keep(&home, "other", "keeper", "get k"), "nothing");
    assert_eq!(keep(&home, "one", "keeper", "get k"), "v");
}

/// A component in a folder of its own, which is its source.
fn publish(home: &Home, source: &str) {
    fs::create_dir_all(home.path().join(source)).unwrap();
    fs::copy(paths::guest("keeper"), home.path().join(source).join("keeper.wasm")).unwrap();
}

fn install(home: &Home, source: &str, more: &[&str]) -> Ran {
    let reference = format!("../{source}/keeper.wasm");
    let fixed = ["plugin", "install", &reference, "--name", "shop", "--yes", "--yes-grant", "state = {}"];
    portcullis(home, "mine", &[&fixed, more].concat())
}

#[test]
fn another_component_that_takes_a_name_does_not_get_its_data() {
    let home = Home::new();
    configure(&home, "mine", "");
    publish(&home, "acme");
    publish(&home, "mallory");
    let lock = home.path().join("mine/portcullis.lock");
    assert!(!install(&home, "acme", &[]).good().contains("earlier [plugins.shop]"));
    keep(&home, "mine", "shop", "set k v");
    let files = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().count();
    assert_eq!(files(&home.path().join("mine")), 2, "nothing is kept beside the configuration but its lock file");

    // Forgotten by hand, and taken by somebody else.
    fs::remove_file(&lock).unwrap();
    let taken = install(&home, "mallory", &[]);
    for words in
        ["There is data of an earlier [plugins.shop] from file:", "acme/keeper.wasm: 1 value of 1 user", "It is kept"]
    {
        assert!(taken.good().contains(words), "{words}: {taken:?}");
    }
    assert_eq!(keep(&home, "mine", "shop", "get k"), "nothing");
    keep(&home, "mine", "shop", "set other w");
    let removed = portcullis(&home, "mine", &["plugin", "remove", "shop"]);
    assert!(removed.refused().contains("portcullis plugin remove plugins.shop --yes"), "{removed:?}");
    portcullis(&home, "mine", &["plugin", "remove", "shop", "--yes"]).good();

    // The first one finds its own again, as it left it.
    let again = install(&home, "acme", &[]);
    assert!(again.good().contains("There is data of the same plugin of before: 1 value of 1 user"), "{again:?}");
    assert_eq!(keep(&home, "mine", "shop", "get k"), "v");
    assert_eq!(keep(&home, "mine", "shop", "get other"), "nothing");
    portcullis(&home, "mine", &["plugin", "remove", "shop", "--keep-data", "--yes"]).good();

    // Given to another one, it is that one's.
    install(&home, "mallory", &["--earlier-data", "take-over"]).good();
    assert_eq!(keep(&home, "mine", "shop", "get k"), "v");
    portcullis(&home, "mine", &["plugin", "remove", "shop", "--yes"]).good();
    install(&home, "acme", &[]).good();
    assert_eq!(keep(&home, "mine", "shop", "get k"), "nothing", "it went with the one that had it");

    // Of several, one is chosen at the terminal.
    publish(&home, "third");
    keep(&home, "mine", "shop", "set k acme");
    fs::remove_file(&lock).unwrap();
    install(&home, "mallory", &[]).good();
    keep(&home, "mine", "shop", "set k mallory");
    fs::remove_file(&lock).unwrap();
    let several = install(&home, "third", &["--earlier-data", "take-over"]);
    assert!(several.refused().contains("there is data of several plugins [plugins.shop]"), "{several:?}");
    install(&home, "mallory", &["--earlier-data", "remove"]).good();
    portcullis(&home, "mine", &["plugin", "remove", "shop", "--yes"]).good();
    install(&home, "acme", &[]).good();
    assert_eq!(keep(&home, "mine", "shop", "get k"), "nothing");

    // Removed, it is gone.
    keep(&home, "mine", "shop", "set k v");
    fs::remove_file(&lock).unwrap();
    install(&home, "mallory", &["--earlier-data", "remove"]).good();
    fs::remove_file(&lock).unwrap();
    install(&home, "acme", &[]).good();
    assert_eq!(keep(&home, "mine", "shop", "get k"), "nothing");

    // Nobody's entry of a lock file may name the data of another plugin.
    let text = fs::read_to_string(&lock).unwrap();
    let forged = text.replace("data = \"plugins.shop@", "data = \"plugins.bank@");
    assert_ne!(forged, text);
    fs::write(&lock, forged).unwrap();
    let refused = portcullis(&home, "mine", &["call", "shop", "run", "path=get k"]);
    assert!(refused.refused().contains("that of another plugin is not given to it"), "{refused:?}");
}
