//! The part of the conversation that reaches further: many questions and calls at once, the model with a tool, suggestions, what is
//! left behind, files, accounts, and what has become of a request.

use super::{GRANTS, Talk, client, with_normal_fields};
use crate::connections::world::{asked, connect_in_browser, home};
use crate::tasks::wait_for;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Condvar, Mutex};
use suite::browser::Browser;
use suite::provider::Provider;
use suite::web::{Reply, Seen, Web};
use suite::{Called, PATIENCE, eventually, plugin_from};

/// Places that are reserved by a post. While it is silent, posts are not answered; those of the place `free` reserve nothing then.
#[derive(Default)]
pub(in super::super) struct Place {
    state: Mutex<State>,
    spoke: Condvar,
}

#[derive(Default)]
struct State {
    is_silent: bool,
    reserved: Vec<String>,
}

impl Place {
    pub(in super::super) fn answer(&self, seen: &Seen) -> Reply {
        let path = seen.path().to_owned();
        let mut state = self.state.lock().unwrap();
        if seen.method != "POST" {
            return match state.reserved.contains(&path) {
                true => Reply::new(200, "reserved before"),
                false => Reply::new(404, "free"),
            };
        }
        if !state.is_silent || !path.ends_with("/free") {
            state.reserved.push(path);
        }
        drop(self.spoke.wait_timeout_while(state, PATIENCE, |state| state.is_silent).unwrap());
        Reply::new(201, "reserved now")
    }

    fn falls_silent(&self) {
        *self.state.lock().unwrap() = State { is_silent: true, reserved: Vec::new() };
    }

    fn speaks(&self) {
        self.state.lock().unwrap().is_silent = false;
        self.spoke.notify_all();
    }
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "tiny", "stopReason": "endTurn"})
}

impl Talk {
    pub(super) fn many_at_once(&mut self) {
        let tools = ["echo.run", "echo.missing", "notes.add", "echo.run"];
        self.plain("agent tools at once", "gather", json!({"tools": tools}));
        self.plain("no agent tools at once", "gather", json!({"tools": []}));
        let uses = |words: &[(&str, &str)]| {
            let content = words
                .iter()
                .map(|(id, word)| json!({"type": "tool_use", "id": id, "name": "look_up", "input": {"word": word}}));
            json!({"role": "assistant", "content": content.collect::<Value>(), "model": "tiny", "stopReason": "toolUse"})
        };
        let talk = [uses(&[("a", "moat"), ("b", "missing")]), uses(&[("c", "g\u{e4}te")]), said("A gate.")];
        self.call("a sample with a tool", "explain", json!({"word": "portcullis"}), &talk);
        self.call("a sample with a tool that is not used", "explain", json!({"word": "gate"}), &talk[2..]);
        let roots = json!({"roots": [{"uri": "file:///repo", "name": "repo"}]});
        let (sure, unsure) = (accept(json!({})), json!({"action": "decline"}));
        let who = accept(json!({"name": "Ada"}));
        let all =
            |sure: &Value, who: &Value| json!({"sure": sure, "where": roots, "who": who, "wish": said("Good luck.")});
        self.call_by_key("questions at once", "interview", all(&sure, &who));
        self.call_by_key("questions at once, declined", "interview", all(&unsure, &unsure));
        self.call_by_key("questions at once, closed", "interview", all(&sure, &json!({"action": "cancel"})));
        for (step, action) in [("opened", "accept"), ("declined", "decline"), ("closed", "cancel")] {
            self.call(&format!("a page, {step}"), "visit", json!({}), &[json!({"action": action})]);
        }
    }

    /// Calls a tool that asks several questions once, in no order that counts.
    fn call_by_key(&mut self, step: &str, tool: &str, answers: Value) {
        let name = format!("polyglot__{tool}");
        let called = self.client.call(&name, json!({}));
        let requests = called.result()["inputRequests"].as_object().unwrap_or_else(|| panic!("{}", called.result()));
        let questions: Map<_, _> = requests.iter().map(|(key, asks)| (key.clone(), with_normal_fields(asks))).collect();
        let params = json!({
            "name": name, "arguments": {}, "inputResponses": answers, "requestState": called.result()["requestState"],
        });
        let called = Called(self.client.request("tools/call", params));
        self.note(step, json!({"result": called.substance(), "asked": questions}));
    }

    pub(super) fn suggestions(&mut self) {
        let prompt = json!({"type": "ref/prompt", "name": "polyglot__review"});
        let template = json!({"type": "ref/resource", "uri": "polyglot://word/{word}"});
        for (step, of, argument, value, language) in [
            ("of a list", &prompt, "language", "RU", None),
            ("of a list, without a beginning", &prompt, "language", "", None),
            ("of a function", &prompt, "focus", "s", None),
            ("of a function that sees another argument", &prompt, "focus", "", Some("rust")),
            ("for a template", &template, "word", "al", None),
            ("that there are not", &template, "word", "x", None),
        ] {
            let mut params = json!({"ref": of, "argument": {"name": argument, "value": value}});
            if let Some(language) = language {
                params["context"] = json!({"arguments": {"language": language}});
            }
            self.asked(&format!("suggestions {step}"), "completion/complete", params);
        }
    }

    pub(super) fn left_behind(&mut self) {
        let leave = |action: &str, path: &str, text: &str| json!({"action": action, "path": path, "text": text});
        self.plain("leaves a resource", "leave", leave("put", "a/b.md", "one"));
        self.plain("adds to a resource", "leave", leave("append", "a/b.md", " \u{e4}"));
        let uri = "portcullis://published/polyglot/a/b.md";
        self.asked("what was left", "resources/read", json!({"uri": uri}));
        let listed = self.client.request("resources/list", json!({}));
        let listed =
            listed.result()["resources"].as_array().unwrap().iter().find(|one| one["uri"] == uri).unwrap().clone();
        let about: Map<_, _> = ["name", "title", "description", "mimeType"]
            .map(|name| (name.to_owned(), listed[name].clone()))
            .into_iter()
            .collect();
        let hints =
            [("audience", &listed["annotations"]["audience"]), ("priority", &listed["annotations"]["priority"])];
        self.note(
            "what is said of it",
            json!({"about": about, "hints": Map::from_iter(hints.map(|(name, hint)| (name.to_owned(), hint.clone())))}),
        );
        self.plain("takes a resource away", "leave", leave("remove", "a/b.md", ""));
        self.plain("takes away what is not there", "leave", leave("remove", "a/b.md", ""));
        self.plain("leaves nothing under a bad path", "leave", leave("put", "../b", "one"));
        self.plain("leaves a prompt", "leave", leave("prompt", "again", "Explain {{line}}."));
        let get = json!({"name": "polyglot__again", "arguments": {"line": "7"}});
        self.asked("the prompt that was left", "prompts/get", get);
        self.plain("takes a prompt away", "leave", leave("forget", "again", ""));
        for (step, event) in [
            ("an event", json!({"name": "polyglot.told", "text": "\u{e4}"})),
            ("an event with a key", json!({"name": "polyglot.told", "text": "b", "key": "k"})),
            ("an event with a key, again", json!({"name": "polyglot.told", "text": "b", "key": "k"})),
            ("an event that is not granted", json!({"name": "other.told", "text": "c"})),
            ("an event without a good name", json!({"name": "polyglot", "text": "c"})),
        ] {
            self.plain(step, "announce", event);
        }
        let inbox = self.client.request("resources/read", json!({"uri": "portcullis://inbox"}));
        let inbox: Value = serde_json::from_str(inbox.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
        let events = inbox["events"].as_array().unwrap().iter();
        let events = events.map(|event| json!({"name": event["name"], "payload": event["payload"]})).collect();
        self.note("the inbox", events);
        self.plain("an account that is not granted", "account", json!({"path": "/user"}));
    }

    pub(super) fn surroundings(&mut self) {
        self.plain("what is left", "budget", json!({}));
        let files = |action: &str, path: &str| json!({"action": action, "path": path, "text": "gr\u{fc}n"});
        for (step, call) in [
            ("written", files("write", "/work/b.txt")),
            ("written beside it", files("write", "/work/a.txt")),
            ("read", files("read", "/work/b.txt")),
            ("read, not there", files("read", "/work/c.txt")),
            ("listed", files("list", "/work")),
        ] {
            self.plain(&format!("files: {step}"), "files", call);
        }
        let work = self.client.server.home.work();
        self.note("files: what is there", std::fs::read_to_string(work.join("a.txt")).unwrap().into());
        self.plain("a variable", "variable", json!({"name": "POLYGLOT"}));
        self.plain("a variable that is not granted", "variable", json!({"name": "HOME"}));
    }

    /// The host is killed while a post is under way, and the plugin finds out what has become of it.
    pub(super) fn in_doubt(&mut self, web: &Web, place: &Place) {
        for name in ["made", "free", "lost"] {
            place.falls_silent();
            let before = posts(web);
            let created = self.client.call("polyglot__reserve", json!({"name": name}));
            let task = created.result()["taskId"].as_str().unwrap_or_else(|| panic!("{}", created.result())).to_owned();
            eventually(PATIENCE, || (posts(web) > before).then_some(())).expect("it posts");
            self.client.server.kill();
            place.speaks();
            self.client.server.restart_stdio();
            let mut ended = wait_for(&mut self.client, &task, |task| task["status"] != "working");
            if let Some(result) = ended["result"].as_object_mut() {
                result.remove("_meta");
            }
            // How many steps a call has before it depends on the language.
            if let Some(Value::String(text)) = ended.pointer_mut("/result/content/0/text")
                && let Some((before, (_, after))) =
                    text.split_once("step ").and_then(|(before, rest)| Some((before, rest.split_once(' ')?)))
            {
                *text = format!("{before}step N {after}");
            }
            let again = posts(web) - before - 1;
            let step = format!("a request in doubt: {name}");
            self.note(&step, json!({"status": ended["status"], "result": ended["result"], "sent again": again}));
        }
    }

    /// An account, which the user connects in a browser.
    pub(super) fn an_account(&mut self, component: &Path) {
        let provider = Provider::start();
        let grants = GRANTS.replace("grants.publish = true", "grants.connections = [\"service\"]");
        let config = plugin_from("polyglot", component, &grants) + &provider.config("service");
        self.client = client(home(&provider), &format!("[server]\nstate = \"state\"\n{config}"), false);
        self.call("an account, declined", "account", json!({"path": "/user"}), &[json!({"action": "decline"})]);
        let arguments = json!({"path": "/user"});
        let (page, state) = asked(&self.client.call("polyglot__account", arguments.clone()), "service");
        connect_in_browser(&mut Browser::default(), &page, "");
        let params = json!({
            "name": "polyglot__account", "arguments": arguments, "requestState": state,
            "inputResponses": {"service": {"action": "accept"}},
        });
        let called = Called(self.client.request("tools/call", params));
        self.note("an account, connected", called.substance());
        self.plain("an account, with a body", "account", json!({"path": "/post", "body": "\u{e4}"}));
        self.plain("an account that answers with an error", "account", json!({"path": "/nothing"}));
        self.plain("an account, beside its path", "account", json!({"path": "/../outside"}));
        self.plain("leaving is not granted", "leave", json!({"action": "put", "path": "a", "text": "one"}));
    }
}

fn posts(web: &Web) -> usize {
    web.seen().iter().filter(|seen| seen.method == "POST" && seen.path().starts_with("/v1/place/")).count()
}
