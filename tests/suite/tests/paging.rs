//! Lists that do not fit on one page.

use serde_json::json;
use suite::{Speaker, plugin};

#[test]
fn the_pages_together_are_the_full_list() {
    // These include the host's own inbox and two templates.
    let lists = [
        ("tools/list", "tools", "name", 110),
        ("resources/list", "resources", "uri", 251),
        ("resources/templates/list", "resourceTemplates", "uriTemplate", 62),
        ("prompts/list", "prompts", "name", 120),
    ];
    for (way, mut speaker) in Speaker::all(&plugin("many-things", "")) {
        let mut cursors = Vec::new();
        for (method, entries, key, count) in lists {
            let mut seen: Vec<String> = Vec::new();
            let mut params = json!({});
            loop {
                let answer = speaker.ask(method, params);
                let page = answer.result()[entries].as_array().unwrap();
                assert!(!page.is_empty() && page.len() <= 100, "{way} {method}: {}", page.len());
                seen.extend(page.iter().map(|entry| entry[key].as_str().unwrap().to_owned()));
                let Some(cursor) = answer.result()["nextCursor"].as_str() else { break };
                cursors.push((method, cursor.to_owned()));
                params = json!({"cursor": cursor});
            }
            assert_eq!(seen.len(), count, "{way} {method}");
            assert!(seen.is_sorted() && seen.windows(2).all(|pair| pair[0] != pair[1]), "{way} {method}: {seen:?}");
        }
        for (method, _, _, _) in lists {
            let foreign = cursors.iter().find(|(of, _)| *of != method).map(|(_, cursor)| cursor.as_str()).unwrap();
            for bad in ["", "nonsense", "AAAA", foreign] {
                let answer = speaker.ask(method, json!({"cursor": bad}));
                assert_eq!(answer.error_code(), -32602, "{way} {method} {bad:?}: {}", answer.message);
            }
        }
    }
}
