//! Pages on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use portcullis_guest::http::{HttpError, Response};
use portcullis_guest::testing::{self, Host};
use portcullis_guest::{ToolError, ToolResult};
use serde_json::json;

use crate::fetch::PLUGIN;

const URL: &str = "https://example.com/page";

fn serving(kind: &'static str, body: &'static str) -> Host {
    Host::new().http(move |_| Ok(Response::new(200, body).with_header("content-type", kind)))
}

fn get(host: &Host) -> Result<ToolResult, ToolError> {
    host.call(&PLUGIN, "get", json!({ "url": URL }))
}

fn failure(host: &Host) -> String {
    get(host).unwrap_err().to_string()
}

#[test]
fn a_page_is_its_words() {
    let html = "<!doctype html><head><title>A&amp;B</title><script>if (a<b) alert('<p>')</script><STYLE>p{}</STYLE></head>
        <body><h1>Hello,\n  <em>world</em>!</h1><!-- no > comment --><p>One &lt;two&gt;<br>three</p><ul><li>x<li>y</ul></body>";
    let host = serving("text/html; charset=utf-8", html);
    assert_eq!(get(&host).unwrap().all_text(), "A&B\nHello, world!\nOne <two>\nthree\nx\ny");
    let sent = host.sent_http();
    assert_eq!((sent.len(), sent[0].method.as_str(), sent[0].url.as_str()), (1, "GET", URL));
    for broken in ["<", "<p", "<script>", "<!--", "a<b", "<script>x</script"] {
        let html: &'static str = broken;
        assert!(get(&serving("text/html", html)).is_ok(), "{broken}");
    }
}

#[test]
fn plain_text_stays_as_it_is() {
    for kind in ["text/plain", "application/json", "image/svg+xml"] {
        assert_eq!(get(&serving(kind, "{\"a\": 1}\n  <b>")).unwrap().all_text(), "{\"a\": 1}\n  <b>");
    }
    assert!(failure(&serving("image/png", "x")).contains("no text, but image/png"));
}

#[test]
fn no_more_is_read_than_wanted() {
    let host = serving("text/plain", "0123456789");
    let result = host.call(&PLUGIN, "get", json!({ "url": URL, "max_bytes": 4 })).unwrap();
    assert_eq!(result.all_text(), "0123\n\n[the page goes on after 4 bytes]");
}

#[test]
fn what_goes_wrong_is_said() {
    assert!(matches!(get(&Host::new()), Err(ToolError::Denied(denial)) if denial.target == format!("GET {URL}")));
    let http = Host::new().call(&PLUGIN, "get", json!({ "url": "http://example.com/" }));
    assert!(matches!(http, Err(ToolError::InvalidArguments(_))));
    assert!(failure(&Host::new().http(|_| Ok(Response::new(404, "")))).contains("status 404"));
    assert!(failure(&Host::new().http(|_| Err(HttpError::Timeout))).contains("in time"));
}

#[test]
fn says_what_it_does() {
    let tool = testing::tool(&PLUGIN, "get");
    assert_eq!((tool.annotations.read_only, tool.annotations.open_world), (Some(true), Some(true)));
}
