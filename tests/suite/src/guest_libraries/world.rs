//! A component with libraries in the sandbox, beside the web server that it may reach.

use super::data::Library;
use super::web::answer;
use crate::web::Web;
use crate::{Called, Client, Home, Server, paths, plugin_from};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// More than calls have by default: what a library needs is in the table.
const LIMITS: &str = "limits.memory = \"256 MiB\"\nlimits.fuel = 50_000_000_000\nlimits.deadline = \"120s\"\n";

/// A plugin, its host and a web server.
pub struct World {
    web: Web,
    /// The host's client.
    pub client: Client,
}

impl World {
    /// The plugin is `guest`; `frugal` is the same with no more fuel than a plugin has by default.
    pub fn new(component: &Path, libraries: &[&Library]) -> Self {
        let (web, home) = (Web::serve(answer), Home::new());
        let sends = libraries.iter().any(|library| library.http);
        let allowed = format!("GET,POST http://localhost:{}/", web.address.port());
        let requesting = home.path().join("guest.wasm");
        let source = if sends {
            let requests = format!("requests.http=[{allowed:?}]");
            let words = [component.to_str(), Some("--set"), Some(&requests), Some("--output"), requesting.to_str()];
            let words: Vec<_> = words.into_iter().flatten().collect();
            crate::portcullis(&home, &[&["plugin", "manifest"][..], &words].concat()).good();
            &requesting
        } else {
            component
        };
        let grants =
            if sends { format!("grants.http = [{{ allow = {allowed:?}, private = true }}]\n") } else { String::new() };
        let mut config = plugin_from("guest", source, &format!("{LIMITS}{grants}"));
        if sends {
            config += &plugin_from("frugal", source, &format!("limits.memory = \"128 MiB\"\n{grants}"));
        }
        // The port makes another component of it each time: what is compiled is not kept.
        let cache = if sends { home.path().join("cache") } else { paths::cache() };
        let server = Server::spawn(home, &config, &[], |command: &mut Command| {
            command.env("PORTCULLIS_CACHE", cache);
        });
        server.wait_until_loaded();
        Self { web, client: Client::of_server(server) }
    }

    /// The address of the web server.
    pub fn server(&self) -> String {
        format!("http://localhost:{}", self.web.address.port())
    }

    /// Calls the tool that uses a library.
    pub fn use_library(&mut self, library: &str) -> Called {
        let server = self.server();
        // In Rust, `use` is not the name of a function.
        let tools = self.client.tools();
        let tool = ["guest__use", "guest__use_library"]
            .into_iter()
            .find(|name| tools.iter().any(|tool| tool["name"] == *name));
        self.client.call(tool.expect("the tool that uses libraries"), json!({"library": library, "server": server}))
    }

    /// Uses each of these, which must give what the data says.
    pub fn check(&mut self, libraries: &[&Library]) {
        assert!(!libraries.is_empty());
        for library in libraries {
            let called = self.use_library(&library.name);
            let given = serde_json::from_str(&called.good()).unwrap_or_default();
            assert_eq!(Some(&given), library.gives.as_ref(), "{}", library.name);
        }
    }
}
