//! Uses the account `service`. `path` says how: `connected`, `connect`, or a method, a path and perhaps a header
//! (`GET /user Accept:text/plain`), which is read `n` times. What comes back is said in full. `memory TEXT` sends a request and says how often TEXT,
//! read backwards, stands anywhere in the guest's memory then.

use guests::client::{self, Url, UrlTarget};
use guests::connections::{self, ConnectionError, Request};
use guests::{Outcome, ToolError, failed};

guests::manifest!(
    r#"{"name":"account","version":"0.1.0","description":"","requests":{"client":{"url":true},"connections":["service"]}}"#
);

const ACCOUNT: &str = "service";

guests::guest! {
    fn run(args) {
        let path = args.path_or("connected");
        let said = match path.as_str() {
            "connected" => format!("{}", connections::connected(ACCOUNT).map_err(why)?),
            "other" => format!("{}", connections::connected("other").map_err(why)?),
            "connect" => {
                let url = Url { message: "Connect your account".into(), target: UrlTarget::Connect(ACCOUNT.into()) };
                format!("{:?}", client::elicit_url(Some("connect"), &url).map_err(|error| failed(format!("{error:?}")))?)
            }
            search if search.starts_with("memory ") => {
                let request = Request { method: "GET".into(), path: "/user".into(), headers: vec![], body: vec![] };
                let answer = connections::send(ACCOUNT, &request).map_err(why)?;
                let found = in_memory(&search.as_bytes()["memory ".len()..]);
                drop(answer);
                found.to_string()
            }
            request => {
                let mut words = request.splitn(3, ' ');
                let method = words.next().unwrap_or_default().to_owned();
                let path = words.next().unwrap_or_default().to_owned();
                let header = words.next().and_then(|header| header.split_once(':'));
                let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
                let body = if method == "GET" { vec![] } else { vec![b'x'; args.n_or(1) as usize] };
                let request = Request { method, path, headers, body };
                let times = if request.method == "GET" { args.n_or(1) } else { 1 };
                for _ in 1..times {
                    connections::send(ACCOUNT, &request).map_err(why)?;
                }
                let answer = connections::send(ACCOUNT, &request).map_err(why)?;
                let body = match answer.body.len() {
                    ..=4096 => String::from_utf8_lossy(&answer.body).into_owned(),
                    long => format!("{long} bytes"),
                };
                format!("{} {body} {:?}", answer.status, answer.headers)
            }
        };
        Outcome::Ok(said.into())
    }
}

fn why(error: ConnectionError) -> ToolError {
    match error {
        ConnectionError::Denied(denial) => ToolError::Denied(denial),
        other => failed(format!("{other:?}")),
    }
}

/// How often a text stands in memory. It comes backwards, so that the question is not what is found.
fn in_memory(backwards: &[u8]) -> usize {
    // Past the first bytes, since a slice never starts at 0.
    let (start, end) = (8, core::arch::wasm32::memory_size(0) << 16);
    // SAFETY: linear memory has no holes, and nothing else runs in it.
    let memory = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start), end - start) };
    let last = backwards.last();
    let here = |part: &&[u8]| part.first() == last && part.iter().eq(backwards.iter().rev());
    std::hint::black_box(memory).windows(backwards.len().max(1)).filter(here).count()
}
