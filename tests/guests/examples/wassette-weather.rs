//! What Wassette's example `get-weather-js` is to its callers: a function that reads its settings from `wasi:config`.

wit_bindgen::generate!({
    inline: r#"
        package mossaka:mcp@0.1.0;

        world weather-mcp {
            import wasi:config/store@0.2.0-draft;
            export get-weather: func(city: string) -> result<string, string>;
        }

        package wasi:config@0.2.0-draft {
            interface store {
                variant config-error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, config-error>;
                get-all: func() -> result<list<tuple<string, string>>, config-error>;
            }
        }
    "#,
    generate_all,
});

use wasi::config::store;

struct Weather;

impl Guest for Weather {
    fn get_weather(city: String) -> Result<String, String> {
        let setting = |name: &str| store::get(name).map_err(|error| format!("{error:?}"));
        let units = setting("UNITS")?.ok_or("UNITS is not set")?;
        let hidden = setting("HIDDEN")?;
        let all = store::get_all().map_err(|error| format!("{error:?}"))?;
        Ok(format!("{city}: 20 {units}, {hidden:?}, {} settings", all.len()))
    }
}

export!(Weather);
