//! What Wassette's examples `time-server-js` and `gomodule-go` are to their callers: functions of interfaces, with the clock.

wit_bindgen::generate!({
    inline: r#"
        package local:time-server;

        interface time {
            get-current-time: func() -> string;
        }

        interface gomodule {
            get-latest-versions: func(module-names: string) -> result<string, string>;
            get-module-info: func(module-names: string) -> result<string, string>;
        }

        world time-server {
            export time;
            export gomodule;
        }
    "#,
});

use std::time::{SystemTime, UNIX_EPOCH};

struct Server;

impl exports::local::time_server::time::Guest for Server {
    fn get_current_time() -> String {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or_else(|error| error.to_string(), |it| it.as_secs().to_string())
    }
}

impl exports::local::time_server::gomodule::Guest for Server {
    fn get_latest_versions(module_names: String) -> Result<String, String> {
        let lines: Vec<String> = module_names.split(',').map(|name| format!("{name}: v1.0.0")).collect();
        if module_names.is_empty() { Err("no modules".into()) } else { Ok(lines.join("\n")) }
    }

    fn get_module_info(module_names: String) -> Result<String, String> {
        std::env::var("GOPROXY").map(|proxy| format!("{module_names} from {proxy}")).map_err(|error| error.to_string())
    }
}

export!(Server);
