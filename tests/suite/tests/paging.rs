//! Pages of lists: as few as possible, since some clients read only the first one.

use crate::upstream::{misbehaving, until_found};
use serde_json::json;
use suite::{Client, Era, Server, Speaker, plugin};

/// Lists of many small things, the host's own inbox and two templates included.
const LISTS: [(&str, &str, &str, usize); 4] = [
    ("tools/list", "tools", "name", 110),
    ("resources/list", "resources", "uri", 251),
    ("resources/templates/list", "resourceTemplates", "uriTemplate", 62),
    ("prompts/list", "prompts", "name", 120),
];

#[test]
fn many_small_things_are_on_one_page() {
    for (way, mut speaker) in Speaker::all(&plugin("many-things", "")) {
        for (method, entries, key, count) in LISTS {
            let answer = speaker.ask(method, json!({}));
            let page = answer.result()[entries].as_array().unwrap();
            let seen: Vec<_> = page.iter().map(|entry| entry[key].as_str().unwrap()).collect();
            assert_eq!((seen.len(), &answer.result()["nextCursor"]), (count, &json!(null)), "{way} {method}");
            assert!(seen.is_sorted() && seen.windows(2).all(|pair| pair[0] != pair[1]), "{way} {method}: {seen:?}");
        }
    }
}

#[test]
fn a_large_list_has_pages_that_together_are_the_list() {
    for era in Era::ALL {
        let config = misbehaving("large-list", "") + &plugin("many-things", "");
        let mut client = until_found(Client::new(Server::start(&config), era, false));
        let (mut seen, mut params, mut pages) = (vec![], json!({}), 0);
        let cursor = loop {
            let answer = client.request("tools/list", params.clone());
            let page = answer.result()["tools"].as_array().unwrap();
            let size = json!(page).to_string().len();
            let next = answer.result()["nextCursor"].as_str();
            assert!(size < 1_050_000, "{era:?}: {size} bytes");
            assert!(size > 1 << 19 || next.is_none(), "{era:?}: a page of {size} bytes has one after it");
            seen.extend(page.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            pages += 1;
            match next {
                Some(next) => params = json!({"cursor": next}),
                None => break params["cursor"].clone(),
            }
        };
        assert_eq!((seen.len(), pages), (410, 3), "{era:?}");
        assert!(seen.is_sorted() && seen.windows(2).all(|pair| pair[0] != pair[1]), "{era:?}: {seen:?}");
        for (method, ..) in LISTS {
            for bad in [json!(""), json!("nonsense"), json!("AAAA"), cursor.clone()] {
                let answer = client.request(method, json!({"cursor": bad}));
                match method == "tools/list" && bad == cursor {
                    true => assert!(answer.message["error"].is_null(), "{era:?}"),
                    false => assert_eq!(answer.error_code(), -32602, "{era:?} {method} {bad}: {}", answer.message),
                }
            }
        }
    }
}
