//! Grants that are checked, compared and reduced.

use crate::capabilities::*;
#[test]
fn what_is_written_is_read_again() {
    let grants: Grants = toml::from_str(
        r#"
        filesystem = [{ host = "work", guest = "/work", access = "write" }]
        agent-tools = ["notes.*"]
        client = { form = true, url = ["*.example.com"], sample = { calls = 1, fallback = true }, roots = true }
        publish = true
        events = ["policy.*"]
        connections = ["github"]
        http = [{ allow = "GET,POST https://api.example.com/v1/", body = "3 KiB", redirects = 2, timeout = "7s" }]
        secrets = [{ name = "token", hosts = ["api.example.com"] }]
        env = ["TZ"]
        state = { size = "5 KiB", keys = 3, private = ["client", "upstream.a"] }
        scratch = { guest = "/own", size = 12 }
        flows = ["client -> host-model"]
        "#,
    )
    .unwrap();
    assert_eq!(toml::from_str::<Grants>(&toml::to_string(&grants).unwrap()).unwrap(), grants);
}

fn check(grants: &str) -> Result<(), String> {
    toml::from_str::<Grants>(grants).unwrap().check()
}

#[test]
fn what_means_something_passes() {
    for good in [
        "",
        "state = {}\nscratch = {}\nclient.sample = {}",
        r#"http = [{ allow = "http://127.0.0.1:8080", private = true, redirects = 3 }]"#,
        r#"filesystem = [{ host = ".", guest = "/src/", access = "read" }, { host = ".", guest = "/src/out", access = "write" }]"#,
        r#"env = ["TZ", "_x1", "HTTP_PROXY", "KEYBOARD", "MONKEY"]"#,
    ] {
        check(good).unwrap_or_else(|why| panic!("{good}: {why}"));
    }
}

#[test]
fn the_rest_is_named() {
    for (bad, why) in [
        (r#"http = [{ allow = "https://a.example", requests = 0 }]"#, "http: requests = 0"),
        (r#"http = [{ allow = "https://a.example", requests = 100000 }]"#, "1 to 10000"),
        (r#"http = [{ allow = "https://a.example", body = "2 GiB" }]"#, "http: body = 2.0 GiB"),
        (r#"http = [{ allow = "https://a.example", timeout = "2h" }]"#, "http: timeout = 2h"),
        (r#"http = [{ allow = "https://a.example", timeout = "0s" }]"#, "http: timeout = 0s"),
        (r#"http = [{ allow = "https://a.example", redirects = 4 }]"#, "http: redirects = 4"),
        (r#"http = [{ allow = "https://*.a.example", private = true }]"#, "names one host"),
        (r#"http = [{ allow = "https://*", private = true }]"#, "names one host"),
        (r#"secrets = [{ name = "x", hosts = [] }]"#, "no hosts"),
        (r#"secrets = [{ name = "a b", hosts = ["a.example"] }]"#, "is no name"),
        (r#"connections = [""]"#, "is no name"),
        (r#"client.sample = { calls = 100000 }"#, "client.sample: calls"),
        (r#"state = { size = "1 TiB" }"#, "state: size = 1.0 TiB"),
        (r#"state = { keys = 2000000 }"#, "state: keys"),
        (r#"scratch = { size = "1 B" }"#, "scratch: size"),
        (r#"scratch = { guest = "own" }"#, "absolute"),
        (r#"scratch = { guest = "/a/../b" }"#, "absolute"),
        (r#"scratch = { guest = "/a//b" }"#, "absolute"),
        (r#"filesystem = [{ host = ".", guest = "/a/./b", access = "read" }]"#, "absolute"),
        (
            r#"filesystem = [{ host = "a", guest = "/a", access = "read" }, { host = "b", guest = "/a/", access = "read" }]"#,
            "two directories",
        ),
        (
            "filesystem = [{ host = \".\", guest = \"/s\", access = \"read\" }]\nscratch = { guest = \"/s/own\" }",
            "in one another",
        ),
        (
            "filesystem = [{ host = \".\", guest = \"/s/own\", access = \"read\" }]\nscratch = { guest = \"/s\" }",
            "in one another",
        ),
        (
            "filesystem = [{ host = \".\", guest = \"/s\", access = \"read\" }]\nscratch = { guest = \"/\" }",
            "in one another",
        ),
        (r#"env = ["A B"]"#, "is not the name of a variable"),
        (r#"env = ["1A"]"#, "is not the name of a variable"),
        (r#"env = ["*"]"#, "is not the name of a variable"),
        (r#"env = ["PORTCULLIS_STATE"]"#, "configures this host"),
        (r#"env = ["GITHUB_TOKEN"]"#, "looks like a secret"),
        (r#"env = ["DATABASE_URL"]"#, "looks like a secret"),
    ] {
        let said = check(bad).expect_err(bad);
        assert!(said.contains(why) && said.starts_with("grants."), "{bad}: {said}");
    }
}

fn grants(text: &str) -> Grants {
    toml::from_str(text).unwrap()
}

/// One line for every key, each with a line that grants less.
const LESS: [(&str, &str); 17] = [
    (
        r#"filesystem = [{ host = "/a", guest = "/a", access = "write" }]"#,
        r#"filesystem = [{ host = "/a", guest = "/a", access = "read" }]"#,
    ),
    (r#"agent-tools = ["notes.*"]"#, r#"agent-tools = ["notes.add"]"#),
    ("client.form = true", "client.form = false"),
    (r#"client.url = ["*.a.example"]"#, r#"client.url = ["b.a.example"]"#),
    ("client.sample = { calls = 4 }", "client.sample = { calls = 3 }"),
    ("client.sample = { fallback = true }", "client.sample = {}"),
    ("client.roots = true", ""),
    ("publish = true", "publish = false"),
    (r#"events = ["a.*"]"#, r#"events = ["a.b"]"#),
    (r#"connections = ["a", "b"]"#, r#"connections = ["b"]"#),
    (r#"http = [{ allow = "https://a.example/" }]"#, r#"http = [{ allow = "https://a.example/v1/" }]"#),
    (
        r#"http = [{ allow = "https://a.example/", redirects = 2 }]"#,
        r#"http = [{ allow = "https://a.example/", redirects = 1 }]"#,
    ),
    (
        r#"secrets = [{ name = "k", hosts = ["*.a.example"] }]"#,
        r#"secrets = [{ name = "k", hosts = ["b.a.example"] }]"#,
    ),
    (r#"env = ["TZ"]"#, "env = []"),
    (r#"flows = ["client -> model"]"#, ""),
    ("state = { keys = 10 }", "state = { keys = 9 }"),
    (r#"scratch = { size = "2 MiB" }"#, r#"scratch = { size = "1 MiB" }"#),
];

#[test]
fn less_is_within_more_and_not_the_other_way_round() {
    // Keeps one line for each key: TOML allows a key only once.
    let mut lines: Vec<_> = LESS.iter().map(|(more, _)| *more).collect();
    lines.dedup_by_key(|line| line.split([' ', '=']).next());
    let all = grants(&lines.join("\n"));
    assert!(all.is_within(&all) && Grants::default().is_within(&all) && !all.is_within(&Grants::default()));
    for (more, less) in LESS {
        let (wide, narrow) = (grants(more), grants(less));
        assert!(narrow.is_within(&wide), "{less} is within {more}");
        assert!(!wide.is_within(&narrow), "{more} is not within {less}");
    }
}

#[test]
fn what_is_elsewhere_is_not_within() {
    for (one, other) in [
        (
            r#"filesystem = [{ host = "/a", guest = "/a", access = "read" }]"#,
            r#"filesystem = [{ host = "/b", guest = "/a", access = "write" }]"#,
        ),
        (
            r#"secrets = [{ name = "k", hosts = ["a.example"] }]"#,
            r#"secrets = [{ name = "l", hosts = ["a.example"] }]"#,
        ),
        (r#"scratch = { guest = "/x" }"#, r#"scratch = { guest = "/y" }"#),
        (
            r#"http = [{ allow = "https://a.example/", private = true }]"#,
            r#"http = [{ allow = "https://a.example/" }]"#,
        ),
        (
            r#"http = [{ allow = "https://a.example/", timeout = "2m" }]"#,
            r#"http = [{ allow = "https://a.example/" }]"#,
        ),
    ] {
        assert!(!grants(one).is_within(&grants(other)), "{one}");
    }
}

#[test]
fn of_more_and_less_the_less_is_left() {
    for (more, less) in LESS {
        let (wide, narrow) = (grants(more), grants(less));
        assert_eq!(wide.limited_to(&narrow), narrow, "{more}");
        assert_eq!(narrow.limited_to(&wide), narrow, "{less}");
        assert_eq!(wide.limited_to(&wide), wide, "{more}");
        assert_eq!(wide.limited_to(&Grants::default()), Grants::default(), "{more}");
    }
}

#[test]
fn the_result_is_within_both() {
    for (one, other, both) in [
        (r#"env = ["A", "B"]"#, r#"env = ["B", "C"]"#, r#"env = ["B"]"#),
        (r#"events = ["a.*", "b.c"]"#, r#"events = ["a.b", "b.*"]"#, r#"events = ["b.c", "a.b"]"#),
        ("state = { size = \"1 MiB\", keys = 9 }", "state = { size = \"2 MiB\", keys = 8 }", ""),
        (r#"scratch = { guest = "/x" }"#, r#"scratch = { guest = "/y" }"#, ""),
    ] {
        let (one, other) = (grants(one), grants(other));
        let limited = one.limited_to(&other);
        assert_eq!(limited, grants(both));
        assert!(limited.is_within(&one) && limited.is_within(&other));
    }
}
