//! What Wassette's example `fetch-rs` is to its callers: the same interface, and a request over `wasi:http`.

wit_bindgen::generate!({
    inline: r#"
        package component:fetch-rs;

        world fetch {
            export fetch: func(url: string) -> result<string, string>;
        }
    "#,
});

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

struct Fetch;

impl Guest for Fetch {
    fn fetch(url: String) -> Result<String, String> {
        let (scheme, rest) = url.split_once("://").ok_or("no scheme")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let request = OutgoingRequest::new(Fields::new());
        let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
        let set = [
            request.set_scheme(Some(&scheme)),
            request.set_authority(Some(authority)),
            request.set_path_with_query(Some(path)),
        ];
        if set.iter().any(Result::is_err) {
            return Err(format!("{url} cannot be requested"));
        }
        let answer = handle(request, None).map_err(|code| format!("{code:?}"))?;
        answer.subscribe().block();
        let answer =
            answer.get().ok_or("no answer")?.map_err(|()| "taken twice")?.map_err(|code| format!("{code:?}"))?;
        if !(200..300).contains(&answer.status()) {
            return Err(format!("Request failed with status code: {}", answer.status()));
        }
        let body = answer.consume().map_err(|()| "no body")?;
        let stream = body.stream().map_err(|()| "no stream")?;
        let mut bytes = Vec::new();
        loop {
            match stream.blocking_read(64 << 10) {
                Ok(more) => bytes.extend(more),
                Err(StreamError::Closed) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Err(error) => return Err(format!("{error:?}")),
            }
        }
    }
}

export!(Fetch);
