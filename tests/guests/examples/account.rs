//! Uses the account `service`. `path` says how: `connected`, `connect`, or a method, a path and perhaps a header
//! (`GET /user Accept:text/plain`). What comes back is said in full.

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
            request => {
                let mut words = request.splitn(3, ' ');
                let method = words.next().unwrap_or_default().to_owned();
                let path = words.next().unwrap_or_default().to_owned();
                let header = words.next().and_then(|header| header.split_once(':'));
                let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
                let body = if method == "GET" { vec![] } else { vec![b'x'; args.n_or(1) as usize] };
                let answer = connections::send(ACCOUNT, &Request { method, path, headers, body }).map_err(why)?;
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
