//! The tables of `tests/tidy.rs`: which crate may depend on which, and what has one place.

/// The host's crates and the crates of ours that each may depend on. Their manifests must say the same, and so must the
/// table in ARCHITECTURE.md.
pub(crate) const CRATES: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("platform", &["policy"]),
    ("runtime", &["policy", "platform"]),
    ("services", &["policy", "platform", "runtime"]),
    ("plugins", &["policy", "platform", "runtime"]),
    ("authoring", &["policy", "platform", "runtime", "plugins"]),
    ("protocol", &["policy", "runtime"]),
    ("mcp", &["policy", "platform", "runtime", "services", "plugins", "protocol"]),
    ("upstream", &["policy", "platform", "runtime", "plugins", "protocol"]),
    ("agent", &["policy", "platform", "runtime", "upstream"]),
];

/// Dependencies that only these crates may have.
pub(crate) const ONLY_CRATES: &[(&[&str], &[&str], &str)] = &[
    (
        &["wasmtime", "wasmtime-wasi", "wasmtime-wasi-http", "wasmtime-wizer"],
        &["runtime"],
        "one crate configures and runs wasmtime, so that an update of it is one change",
    ),
    (&["landlock", "seccompiler", "libc"], &["platform"], "one crate says what this process gives up"),
    (&["cap-std", "cap-primitives"], &["platform"], "one place turns paths into folders"),
    (&["rmcp"], &["protocol", "mcp", "upstream"], "no other crate knows the protocol's types"),
    (&["axum"], &["mcp"], "one crate serves HTTP"),
    (&["rusqlite"], &["platform"], "one crate knows how things are stored"),
    (
        &["reqwest", "rustls", "tokio-rustls", "rustls-platform-verifier"],
        &["platform"],
        "one crate sends HTTP requests",
    ),
    (&["hyper", "hyper-util"], &["platform", "mcp"], "one crate sends HTTP requests, and one serves them"),
    (&["rustyline", "indicatif"], &["portcullis"], "only the command line talks with people"),
    (&["clap", "anyhow"], &["authoring", "portcullis"], "errors are typed where code reads them, not only people"),
];

/// Words of the host that stand in few places only. A place is a file or a folder, below `host/crates/<crate>/src` as
/// `<crate>/...`, and below `host/src` as `portcullis/...`.
pub(crate) struct Only {
    pub(crate) words: &'static [&'static str],
    pub(crate) places: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const ONLY: &[Only] = &[
    Only {
        words: &["wasmtime", "wasmtime_wasi", "wasmtime_wasi_http", "wasmtime_wizer"],
        places: &[
            "runtime/engine/",
            "runtime/abi/",
            "runtime/imports/wasi.rs",
            "runtime/imports/wasi/",
            "runtime/imports/http/answered.rs",
            "runtime/imports/http/headers.rs",
            "runtime/imports/http/hooks.rs",
            "runtime/imports/http/random_replay_tests.rs",
            "runtime/imports/http/request_parts.rs",
            "runtime/imports/http/steps.rs",
            "runtime/imports/replay_fixture.rs",
            "runtime/imports/streams/",
        ],
        why: "what a guest may ask is decided in the host's own types",
    },
    Only {
        words: &["landlock", "seccompiler", "libc"],
        places: &["platform/confine/"],
        why: "one place says what this process gives up",
    },
    Only {
        words: &["cap_std", "open_ambient_dir", "ambient_authority", "preopened_dir"],
        places: &["platform/folder/"],
        why: "one place turns a path into a folder; what is below it is reached through its descriptor",
    },
    Only { words: &["bindgen"], places: &["runtime/abi/"], why: "generated types stay behind one wall" },
    Only { words: &["rusqlite"], places: &["platform/storage/"], why: "one place knows how things are stored" },
    Only {
        words: &[
            "reqwest",
            "rustls",
            "hyper::client",
            "hyper_util::client",
            "tokio_rustls",
            "rustls_platform_verifier",
            "lookup_host",
        ],
        places: &["platform/outbound/"],
        why: "one place decides how other servers are asked",
    },
    Only {
        words: &["hyper"],
        places: &["platform/outbound/", "mcp/transport/connections/http_connections.rs"],
        why: "one place asks other servers, and one serves clients",
    },
    Only { words: &["print!", "println!"], places: &["portcullis/cli/"], why: "stdout is the MCP wire" },
    Only {
        words: &["env::var", "env::var_os", "env::vars"],
        places: &["portcullis/config/", "portcullis/fuzzing/driver.rs"],
        why: "one resolved configuration, and a test that is told how long to run",
    },
    Only {
        words: &["Instant::now", "SystemTime::now"],
        places: &["platform/clock.rs"],
        why: "time is an input, or tests wait",
    },
    Only { words: &["process::exit"], places: &[], why: "it skips every destructor; return an exit code from main" },
    Only {
        words: &["anyhow"],
        places: &["authoring/", "portcullis/cli/", "portcullis/main.rs"],
        why: "errors are typed where code reads them, not only people",
    },
];

/// `unsafe` is counted in tests too.
pub(crate) const UNSAFE: &str = "runtime/engine/artifact.rs";
