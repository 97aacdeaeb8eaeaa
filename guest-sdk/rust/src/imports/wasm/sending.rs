//! Requests over `wasi:http`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

use crate::Denial;
use crate::host_types::http::{HttpError, Request, Response};

/// The most bytes that WASI accepts in one write.
const PIECE: usize = 4096;

pub(crate) fn send_http(request: Request) -> Result<Response, HttpError> {
    let target = request.target();
    let failed = |code: ErrorCode| error(code, &target);
    let outgoing = outgoing(&request)?;
    let body = match request.body.is_empty() {
        true => None,
        false => Some(outgoing.body().map_err(|()| invalid("it has two bodies"))?),
    };
    let answer = handle(outgoing, options(&request)).map_err(failed)?;
    if let Some(body) = body {
        write(body, &request.body).map_err(failed)?;
    }
    answer.subscribe().block();
    let Some(Ok(answer)) = answer.get() else { return Err(HttpError::Failed("there is no answer".into())) };
    let answer = answer.map_err(failed)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = answer.headers().entries().into_iter().map(|(name, value)| (name, text(value))).collect();
    let status = answer.status();
    let incoming = answer.consume().map_err(|()| HttpError::Failed("its body is gone".into()))?;
    let (body, truncated) = read(&incoming, request.max_body).map_err(failed)?;
    Ok(Response { status, headers, body, truncated })
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, HttpError> {
    let (scheme, rest) = request.url.split_once("://").ok_or_else(|| invalid("the URL has no scheme"))?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, path) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return Err(invalid("the scheme must be https or http")),
    };
    let method = match request.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => Method::Other(other.to_owned()),
    };
    let fields = Fields::new();
    for (name, value) in &request.headers {
        let refused = |error| invalid(format!("the header `{name}`: {error:?}"));
        fields.append(name, value.as_bytes()).map_err(refused)?;
    }
    if !request.body.is_empty() && !fields.has("content-length") {
        let length = request.body.len().to_string();
        fields.append("content-length", length.as_bytes()).map_err(|error| invalid(format!("{error:?}")))?;
    }
    let outgoing = OutgoingRequest::new(fields);
    let set = [
        outgoing.set_method(&method),
        outgoing.set_scheme(Some(&scheme)),
        outgoing.set_authority(Some(authority)),
        outgoing.set_path_with_query(Some(path)),
    ];
    match set.into_iter().all(|set| set.is_ok()) {
        true => Ok(outgoing),
        false => Err(invalid("the method or the URL is malformed")),
    }
}

fn options(request: &Request) -> Option<RequestOptions> {
    let time = u64::try_from(request.timeout?.as_nanos()).unwrap_or(u64::MAX);
    let options = RequestOptions::new();
    // A host that does not support one of these options uses its own timeout.
    let _ = options.set_connect_timeout(Some(time));
    let _ = options.set_first_byte_timeout(Some(time));
    let _ = options.set_between_bytes_timeout(Some(time));
    Some(options)
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), ErrorCode> {
    let Ok(stream) = body.write() else { return Ok(()) };
    for piece in bytes.chunks(PIECE) {
        if stream.blocking_write_and_flush(piece).is_err() {
            // The server stopped reading; its answer says why.
            return Ok(());
        }
    }
    drop(stream);
    OutgoingBody::finish(body, None)
}

/// Reads up to the wanted number of bytes, and returns whether there is more.
fn read(incoming: &IncomingBody, most: usize) -> Result<(Vec<u8>, bool), ErrorCode> {
    let Ok(stream) = incoming.stream() else { return Ok((Vec::new(), false)) };
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => body.extend(piece),
            Err(StreamError::Closed) => return Ok((body, false)),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error);
                return Err(code.unwrap_or(ErrorCode::HttpResponseIncomplete));
            }
        }
        if body.len() > most {
            body.truncate(most);
            return Ok((body, true));
        }
    }
}

fn invalid(why: impl Into<String>) -> HttpError {
    HttpError::Invalid(why.into())
}

fn error(code: ErrorCode, target: &str) -> HttpError {
    match code {
        ErrorCode::HttpRequestDenied => HttpError::Denied(Denial::new("http", target)),
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestUriTooLong => invalid("the URL is none that is sent"),
        ErrorCode::HttpRequestMethodInvalid => invalid("the method is none that is sent"),
        ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => {
            HttpError::Timeout
        }
        ErrorCode::ConnectionLimitReached => HttpError::Exhausted("requests of this call".into()),
        ErrorCode::HttpRequestBodySize(_) => HttpError::Exhausted("the size of the request's body".into()),
        ErrorCode::HttpResponseBodySize(_) => HttpError::Exhausted("the size of the answer's body".into()),
        ErrorCode::DestinationNotFound => HttpError::Failed("its name cannot be resolved".into()),
        ErrorCode::ConnectionRefused => HttpError::Failed("no connection could be made".into()),
        ErrorCode::InternalError(Some(why)) => HttpError::Failed(why),
        other => HttpError::Failed(format!("{other:?}")),
    }
}
