//! Sends requests over `wasi:http`, as an author without our SDK would. `path` is a method, a URL and headers, one in each
//! line (`GET http://host/` and `Name: value`); `n` bytes go in the body. What comes back is said in full. A first line
//! `leave` goes away without waiting for the answer, `hold` with the answer begun and not read; `hurry` does not wait long for
//! the answer to begin, `brief` for the connection. `pathless http://host` makes `n` requests that cannot be sent.

use guests::{Outcome, failed};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme};
use wasip2::io::streams::StreamError;

guests::guest! {
    fn run(args) {
        let path = args.path_or("");
        let mut lines = path.lines();
        let mut first = lines.next().unwrap_or_default();
        let how = first;
        if let Some(authority) = how.strip_prefix("pathless http://") {
            let make = || {
                let request = OutgoingRequest::new(Fields::new());
                let _ = (request.set_scheme(Some(&Scheme::Http)), request.set_authority(Some(authority)));
                handle(request, None).is_err()
            };
            return Outcome::Ok(format!("{} refused", (0..args.n_or(0)).filter(|_| make()).count()).into());
        }
        if matches!(how, "leave" | "hold" | "hurry" | "brief") {
            first = lines.next().unwrap_or_default();
        }
        let (method, url) = first.split_once(' ').unwrap_or(("GET", first));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| failed("no scheme"))?;
        let (authority, path) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
        let fields = Fields::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            fields.append(name, value.as_bytes()).map_err(|error| failed(format!("{name}: {error:?}")))?;
        }
        let request = OutgoingRequest::new(fields);
        let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
        let method = match method {
            "GET" => Method::Get,
            "POST" => Method::Post,
            other => Method::Other(other.to_owned()),
        };
        let set = [
            request.set_method(&method),
            request.set_scheme(Some(&scheme)),
            request.set_authority(Some(authority)),
            request.set_path_with_query(Some(path)),
        ];
        if set.iter().any(Result::is_err) {
            return Err(failed("the request cannot even be made"));
        }
        let body = (args.n_or(0) > 0).then(|| request.body().expect("the first body"));
        let options = matches!(how, "hurry" | "brief").then(|| {
            let options = RequestOptions::new();
            let _ = match how {
                "hurry" => options.set_first_byte_timeout(Some(50_000_000)),
                _ => options.set_connect_timeout(Some(200_000_000)),
            };
            options
        });
        let answer = handle(request, options).map_err(|code| failed(format!("{code:?}")))?;
        if let Some(body) = body {
            let stream = body.write().expect("the first stream");
            let mut left = args.n_or(0);
            while left > 0 && stream.blocking_write_and_flush(&vec![b'x'; left.min(4096) as usize]).is_ok() {
                left -= left.min(4096);
            }
            drop(stream);
            let _ = OutgoingBody::finish(body, None);
        }
        if how == "leave" {
            return Outcome::Ok("left".to_owned().into());
        }
        answer.subscribe().block();
        let answer = match answer.get() {
            Some(Ok(Ok(answer))) => answer,
            Some(Ok(Err(code))) => return Err(failed(format!("{code:?}"))),
            other => return Err(failed(format!("no answer: {}", other.is_some()))),
        };
        let headers: Vec<_> = answer.headers().entries();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name, String::from_utf8_lossy(value))).collect();
        let status = answer.status();
        let said = format!("{status} {headers:?} ");
        let incoming = answer.consume().expect("the first look at the body");
        let stream = incoming.stream().expect("the first stream");
        if how == "hold" {
            std::mem::forget((stream, incoming));
            return Outcome::Ok(said.into());
        }
        let mut body = Vec::new();
        loop {
            match stream.blocking_read(1 << 16) {
                Ok(piece) => body.extend(piece),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = wasip2::http::types::http_error_code(&error);
                    return Err(failed(format!("after {} bytes: {code:?}", body.len())));
                }
            }
        }
        let shown = String::from_utf8_lossy(&body[..body.len().min(2048)]).into_owned();
        Outcome::Ok(format!("{said}{} bytes: {shown}", body.len()).into())
    }
}
