//! Both keys, and the denial when one is missing.

use super::*;
use crate::{HttpTarget, PrivateOrigins, Recipient, Side};
use std::path::Path;

fn authority(requests: &str, grants: &str) -> Authority {
    let plugin = PluginId { side: Side::Server, name: "p".into() };
    Authority::new(plugin, &toml::from_str(requests).unwrap(), &toml::from_str(grants).unwrap())
}

const SRC: &str = r#"filesystem = [{ host = ".", guest = "/src", access = "write" }]"#;

#[test]
fn both_keys_are_needed() {
    assert!(authority("", SRC).mounts().is_empty());
    assert_eq!(authority("", SRC).unrequested_grants(), ["filesystem"]);
    assert!(authority(r#"filesystem = "read""#, "").mounts().is_empty());
    let tools = r#"agent-tools = ["notes.*"]"#;
    assert!(authority(tools, "").agent_tool("notes.add").is_err());
    assert!(authority("", tools).agent_tool("notes.add").is_err());
    assert!(authority(tools, r#"agent-tools = ["notes.add"]"#).agent_tool("notes.add").is_ok());
    assert!(authority(tools, r#"agent-tools = ["notes.add"]"#).agent_tool("notes.search").is_err());
}

#[test]
fn what_is_not_requested_is_offered_no_grant() {
    let requests = authority("", "");
    let target = HttpTarget::parse_request("GET", "https://a.example/v1").unwrap().0;
    for denial in
        [requests.http(&target).unwrap_err(), requests.publish().unwrap_err(), requests.secret("k", "a").unwrap_err()]
    {
        let told = denial.for_operator();
        assert!(told.contains("no grant has an effect") && !told.contains("portcullis grant"), "{told}");
    }
}

#[test]
fn a_request_is_answered_with_the_grant_that_the_manifest_asks_for() {
    let remedy = |pattern: &str, url: &str| {
        let target = HttpTarget::parse_request("GET", url).unwrap().0;
        let told = authority(&format!("http = [\"{pattern}\"]"), "").http(&target).unwrap_err().for_operator();
        told.split_once("grant p ").unwrap().1.to_owned()
    };
    for (pattern, url, line) in [
        ("GET,POST https://a.example/v1/", "https://a.example/v1/x", "allow = \"GET,POST https://a.example/v1/\""),
        ("https://*.b.example/v1/", "https://a.b.example/v1/x", "allow = \"GET https://a.b.example/\""),
        ("https://a.example/it's/", "https://a.example/it's/x", "allow = \"GET https://a.example/\""),
        ("http://localhost:8080/", "http://localhost:8080/x", "allow = \"http://localhost:8080/\", private = true"),
        ("http://*", "http://a.localhost/x", "allow = \"GET http://a.localhost/\", private = true"),
        ("https://10.0.0.7", "https://10.0.0.7/x", "allow = \"https://10.0.0.7\", private = true"),
        ("http://[::1]:8/", "http://[::1]:8/", "allow = \"http://[::1]:8/\", private = true"),
    ] {
        assert_eq!(remedy(pattern, url), format!("'http = [{{ {line} }}]'"), "{pattern}");
    }
}

#[test]
fn each_key_bounds_the_other() {
    let target = HttpTarget::parse_request("GET", "https://a.example/v1").unwrap().0;
    let may = |requests: &str, grants: &str| {
        let authority = authority(requests, grants);
        (authority.http(&target).is_ok(), authority.secret("key", "a.example").is_ok())
    };
    let requests = "http = [\"https://*\"]\nsecrets = [\"key\"]";
    let grants = "http = [{ allow = \"https://*\" }]\nsecrets = [{ name = \"key\", hosts = [\"a.example\"] }]";
    assert_eq!(may(requests, grants), (true, true));
    assert_eq!(may("", grants), (false, false));
    assert_eq!(
        may(&requests.replace("https://*", "https://b.example").replace("key", "other"), grants),
        (false, false)
    );
    assert_eq!(may(requests, ""), (false, false));
    assert_eq!(may(requests, &grants.replace("https://*", "https://b.example").replace("a.e", "b.e")), (false, false));
}

#[test]
fn the_lesser_access_counts() {
    assert_eq!(authority(r#"filesystem = "read""#, SRC).mounts()[0].access, Access::Read);
    assert_eq!(authority(r#"filesystem = "write""#, SRC).mounts()[0].access, Access::Write);
}

#[test]
fn refused_paths_are_told_apart() {
    let read =
        authority(r#"filesystem = "write""#, r#"filesystem = [{ host = ".", guest = "/src", access = "read" }]"#);
    let words = |path, access| read.path_refused(path, access).for_operator();
    assert!(words("/src/../../etc/passwd", Access::Read).contains("`/etc/passwd` is outside"));
    assert!(words("/src/../../etc/passwd", Access::Read).contains(r#"guest = "/etc""#));
    assert!(words("/srcs/x", Access::Read).contains("is outside"));
    assert!(words("../etc/x", Access::Read).contains("`/etc/x` is outside"));
    assert!(words("x", Access::Write).contains("may only be read"));
    assert!(words("/src/link/x", Access::Read).contains("leads outside"));
    let write = words("/src/x", Access::Write);
    assert!(write.contains("may only be read") && write.contains(r#"guest = "/src", access = "write""#), "{write}");
    let unrequested = authority(r#"filesystem = "read""#, SRC).path_refused("/src/x", Access::Write).for_operator();
    assert!(unrequested.contains("requests read, not write; no grant can change that"), "{unrequested}");
}

#[test]
fn paths_that_are_not_granted_name_the_grant_that_has_an_effect() {
    let unrequested = authority("", SRC).path_refused("/x/y", Access::Read);
    assert!(unrequested.to_string().contains("`/x/y` is not requested by its manifest"), "{unrequested}");
    assert!(unrequested.for_operator().contains("portcullis plugin manifest"), "{}", unrequested.for_operator());
    for access in [Access::Read, Access::Write] {
        let none = authority(r#"filesystem = "read""#, "").path_refused("/x/y", access);
        let told = format!("denied: filesystem `/x/y` is outside the granted directories. {}", crate::ASK_THE_USER);
        assert_eq!(none.to_string(), told);
        let command =
            "portcullis grant p 'filesystem = [{ host = \"<directory>\", guest = \"/x\", access = \"read\" }]'";
        assert!(none.for_operator().ends_with(command), "{}", none.for_operator());
    }
}

#[test]
fn private_results_stay_where_they_are() {
    use crate::Origin;
    let secrets = PrivateOrigins::from([Origin::Client]);
    let github = Recipient::Connection("github".into());
    let denied = authority("", "").flow(&secrets, &github).unwrap_err().for_operator();
    assert!(denied.contains("flows = [\"client -> connections.github\"]"), "{denied}");
    assert!(authority("", r#"flows = ["client -> connections.*"]"#).flow(&secrets, &github).is_ok());
    assert!(authority("", "").flow(&secrets, &Recipient::Origin(Origin::User)).is_ok());
    assert!(authority("", "").flow(&PrivateOrigins::new(), &github).is_ok());
    let own = Recipient::Origin(Origin::Upstream("a".into()));
    assert!(authority("", "").flow(&PrivateOrigins::from([Origin::Upstream("a".into())]), &own).is_ok());
    assert!(authority("", "").flow(&PrivateOrigins::from([Origin::Upstream("b".into())]), &own).is_err());
}

#[test]
fn the_machine_gives_what_both_keys_name() {
    let both = "env = [\"TZ\", \"UNSET\"]\n";
    let requests = both.to_owned() + "scratch = true";
    let grants = "env = [\"TZ\", \"HOME\"]\nscratch = { guest = \"/own\" }";
    let environment = [("TZ", "UTC"), ("HOME", "/home/x"), ("UNSET", "no")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let machine = HostEnvironment { environment, state: Some("/state".into()) };
    let whole = authority(&requests, grants).with_environment(&machine, &DataKey::from_stored("plugins.p"));
    assert_eq!(whole.environment(), [("TZ".to_owned(), "UTC".to_owned())]);
    assert_eq!(whole.scratch_folder().unwrap(), (Path::new("/state/scratch/plugins.p"), 64 << 20));
    assert!(whole.path("/own/x", Access::Write).is_ok() && whole.path("/own/../x", Access::Read).is_err());
    assert!(whole.variable("TZ").is_ok() && whole.variable("HOME").is_err() && whole.variable("UNSET").is_err());
    for (requests, grants) in [("", grants), (requests.as_str(), "")] {
        let nothing = authority(requests, grants).with_environment(&machine, &DataKey::from_stored("plugins.p"));
        assert!(nothing.environment().is_empty() && nothing.mounts().is_empty());
    }
}

#[test]
fn unknown_keys_are_errors() {
    assert!(toml::from_str::<Grants>("network = true").is_err());
    assert!(toml::from_str::<Requests>("network = true").is_err());
}
