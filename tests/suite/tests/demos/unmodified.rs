//! The demos with unmodified clients: every demo with every client in each revision that it supports, from one component.

use super::{churn, research, travel};
use serde_json::{Value, json};
use suite::transcripts::PEERS;
use suite::{Home, cli, paths};

/// The report of the travel agent.
const REPORTS: [&str; 5] = ["looking for flights", "looking for dates", "comparing prices", "booking", "booked"];

/// All demos in one server, each with the same folder.
fn config() -> String {
    travel::config() + &research::config() + &churn::config()
}

fn home() -> Home {
    let home = research::home();
    churn::supply(&home);
    home
}

/// The script for the programs of `tests/clients`: a user who fills in every form, and a model that answers "Paris".
fn script() -> Value {
    let call = |name: &str, tool: &str, arguments: Value, answer: &str, content: Value| {
        json!({"name": name, "tool": tool, "arguments": arguments, "answer": answer, "content": content, "reports": 0,
            "stop_ms": 0})
    };
    let paris = json!({"destination": "Paris"});
    let trip = json!({"confirm": true, "notes": "a window seat"});
    // The user gives the same answer to both forms of the churn review.
    let review = json!({"definition": "paid-customers", "quarter": "fiscal-q4", "year": 2025, "notes": "n"});
    let question = json!({"question": "churn last quarter"});
    json!([
        call("trip", "travel__travel_agent", paris.clone(), "accept", trip),
        call("no trip", "travel__travel_agent", paris.clone(), "decline", json!({})),
        call("research", "research__research_agent", json!({"topic": "portcullis"}), "accept", json!({})),
        call("tools", "research__research_agent", json!({"topic": "moat", "tools": true}), "accept", json!({})),
        call("churn", "churn__generate_report", question.clone(), "accept", review),
        call("no churn", "churn__generate_report", question.clone(), "decline", json!({})),
        call("nobody for a trip", "travel__travel_agent", paris, "unable", json!({})),
        call("no model", "research__research_agent", json!({"topic": "portcullis"}), "unable", json!({})),
        call("nobody for churn", "churn__generate_report", question, "unable", json!({})),
    ])
}

/// A client's view of a call without the parts that differ between revisions: its text, if any, and its questions.
fn summed_up(call: &Value) -> Value {
    let methods: Vec<&Value> = call["asked"].as_array().unwrap().iter().map(|asked| &asked["method"]).collect();
    let refused = call.get("error").is_some() || call["result"]["isError"] == true;
    let texts = call["result"]["content"].as_array().into_iter().flatten().filter_map(|piece| piece["text"].as_str());
    // A client that cannot be asked gets a protocol error in one revision and a tool error in the other.
    let text = if call["asked"] == json!([]) && refused { "refused".to_owned() } else { texts.collect::<String>() };
    json!({"name": call["name"], "text": text, "refused": refused, "asked": methods})
}

#[test]
fn every_client_sees_the_same_demos() {
    let mut transcripts: Vec<(String, Value)> = Vec::new();
    for peer in PEERS {
        for era in peer.eras {
            let home = home();
            let file = home.write("portcullis.toml", config());
            let mut command = peer.command();
            command.arg(era).arg(script().to_string()).arg("--");
            command.arg(paths::binary()).arg("serve").arg("--config").arg(file);
            command.env("PORTCULLIS_CACHE", paths::cache());
            let ran = cli::run(command);
            let seen: Value =
                serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
            let who = format!("{} {era}", peer.name);
            let calls = seen["calls"].as_array().unwrap();
            assert_eq!(travel::bookings(&home), 1, "{who}: {seen}");
            // TypeScript drops a report that comes together with the end of its request and adds one per round; rmcp
            // handles reports on tasks of their own, in any order.
            let mut heard: Vec<_> = calls[0]["progress"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            heard.retain(|message| !message.starts_with("Fulfilling input required"));
            // Where the cache is cold, the first call waits, and says so.
            heard.retain(|message| !message.starts_with("waiting for plugins that are being prepared"));
            let ours = |report: &&&str| heard.iter().filter(|heard| heard == report).count() == 1;
            let drops_all = heard.is_empty() && peer.name.starts_with("@modelcontextprotocol");
            assert!(
                drops_all || !heard.is_empty() && REPORTS.iter().filter(ours).count() == heard.len(),
                "{who}: {heard:?}"
            );
            let version = if *era == "legacy" { "2025-11-25" } else { "2026-07-28" };
            assert_eq!(seen["protocolVersion"], version, "{who}");
            transcripts.push((who, calls.iter().map(summed_up).collect()));
        }
    }
    let (first, expected) = &transcripts[0];
    for (who, transcript) in &transcripts {
        assert_eq!(transcript, expected, "{who} and {first}");
    }
    let text = |at: usize| expected[at]["text"].as_str().unwrap();
    assert!(text(0).starts_with("Booked Paris for 1200") && text(0).ends_with("Notes: a window seat\n\nParis"));
    assert_eq!(text(1), "Booking cancelled: the user declined.");
    assert!(text(2).contains("## Key findings\n\nParis\n") && text(3).contains("## Key findings\n\nParis\n"));
    assert!(text(4).contains("3 of 6 left: 50.0 %."), "{}", text(4));
    assert_eq!((text(5), text(6), text(8)), ("the user declined", "refused", "refused"));
    assert!(text(7).contains("no summary"));
    let asked = |at: usize| expected[at]["asked"].as_array().unwrap().len();
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(asked), [2, 1, 1, 1, 3, 2, 0, 0, 0]);
}
