//! Goes through `path`, a step in each line, and says what came of each: files of `/work`, HTTP requests, `ask`, which asks
//! the user for a name, `confirm`, which goes on only if there is one, `map`, which makes a hash map, and `say`, a chunk. Files and answers
//! that are read in parts stay open from one line to another. With `n`, a checkpoint is saved after each line.

use guests::client::{self, Form, FormAnswer};
use guests::{Outcome, ToolError, checkpoint, failed, output, text};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::{InputStream, StreamError};

guests::guest! {
    fn run(args) {
        let mut open = Open::default();
        let restored = args.n.and_then(|_| checkpoint::restored()).unwrap_or_default();
        let mut said: Vec<String> = String::from_utf8_lossy(&restored).lines().map(str::to_owned).collect();
        for line in args.path_or("").lines().skip(said.len()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (first, words) = rest.split_once(' ').unwrap_or((rest, ""));
            let done = match word {
                "ask" => ask()?,
                "map" => Ok(map()),
                "map-and-ask" => {
                    map();
                    ask()?
                }
                "confirm" => match ask()? {
                    Ok(no) if no == "no" => return Err(failed("it was not confirmed")),
                    said => said,
                },
                "get" => request(Method::Get, first, "", words).map(answered),
                "post" => request(Method::Post, first, words, "").map(answered),
                "put" => request(Method::Put, first, words, "").map(answered),
                "begin" => request(Method::Get, first, "", "").map(|answer| {
                    let status = answer.status();
                    let body = answer.consume().expect("the first look");
                    open.answer = Some((body.stream().expect("the first stream"), body));
                    status.to_string()
                }),
                "more" => open.more(first.parse().unwrap_or(1)),
                "send" => open.send(first, words),
                "sent" => open.sent(),
                "say" => match output::emit(&[text(rest)]) {
                    Ok(seq) => Ok(seq.to_string()),
                    Err(error) => Err(format!("{error:?}")),
                },
                "burn" => Ok(burn(first.parse().unwrap_or_default())),
                _ => files(&mut open, word, first, words).map_err(|error| error.to_string()),
            };
            said.push(format!("{word}: {}", done.unwrap_or_else(|error| format!("failed: {error}"))));
            if args.n.is_some() {
                checkpoint::save(said.join("\n").as_bytes()).map_err(|error| failed(format!("{error:?}")))?;
            }
        }
        // Else the last words would be those of the files that are closed.
        drop(open);
        Outcome::Ok(said.join("\n").into())
    }
}

/// What is open from one line to another.
#[derive(Default)]
struct Open {
    file: Option<File>,
    answer: Option<(InputStream, IncomingBody)>,
    sending: Option<wasip2::http::types::FutureIncomingResponse>,
}

impl Open {
    fn more(&mut self, most: u64) -> Result<String, String> {
        let (stream, _) = self.answer.as_ref().ok_or("nothing is begun")?;
        let mut read = 0;
        while read < most {
            match stream.blocking_read(most - read) {
                Ok(piece) => read += piece.len() as u64,
                Err(StreamError::Closed) => return Ok(format!("{read}, all")),
                Err(error) => return Err(format!("after {read}: {error:?}")),
            }
        }
        Ok(read.to_string())
    }

    /// Sends a request and does not wait for the answer.
    fn send(&mut self, method: &str, url: &str) -> Result<String, String> {
        let method = if method == "POST" { Method::Post } else { Method::Get };
        self.sending = Some(handle(prepared(&method, url, "")?, None).map_err(|code| format!("{code:?}"))?);
        Ok("on its way".into())
    }

    fn sent(&mut self) -> Result<String, String> {
        let sending = self.sending.take().ok_or("nothing is sent")?;
        wait(&sending).map(answered)
    }
}

/// The first hash map of an instance asks for a seed.
fn map() -> String {
    HashMap::from([(1, 2)]).len().to_string()
}

/// Computes for about so many units of fuel.
fn burn(units: u64) -> String {
    (0..units / 4).fold(0u64, |sum, at| std::hint::black_box(sum ^ at)).to_string()
}

fn ask() -> Result<Result<String, String>, ToolError> {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#.into();
    match client::elicit_form(None, &Form { message: "Your name?".into(), schema }) {
        Ok(FormAnswer::Accepted(content)) => Ok(Ok(content)),
        Ok(_) => Ok(Ok("no".into())),
        Err(error) => Err(failed(format!("{error:?}"))),
    }
}

fn files(open: &mut Open, word: &str, name: &str, text: &str) -> std::io::Result<String> {
    let path = format!("/work/{name}");
    let done = |()| "done".to_owned();
    match word {
        "read" => fs::read_to_string(path).map(|read| format!("{:?}", &read[..read.len().min(60)])),
        "write" => fs::write(path, text).map(done),
        "new" => OpenOptions::new().write(true).create_new(true).open(path).map(|_| done(())),
        "append" => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map(done)
        }
        "resize" => {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(text.parse().unwrap_or(0)).map(done)
        }
        "folder" => fs::create_dir(path).map(done),
        "unfolder" => fs::remove_dir(path).map(done),
        "move" => fs::rename(path, format!("/work/{text}")).map(done),
        "remove" => fs::remove_file(path).map(done),
        "size" => fs::metadata(path).map(|found| found.len().to_string()),
        "list" => {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort();
            Ok(names.join(" "))
        }
        "open" => {
            open.file = Some(OpenOptions::new().read(true).append(text == "append").open(path)?);
            Ok("open".into())
        }
        "piece" => {
            let mut piece = vec![0; text.parse().unwrap_or(4)];
            let file = open.file.as_mut().ok_or(std::io::ErrorKind::NotFound)?;
            let length = file.read(&mut piece)?;
            Ok(String::from_utf8_lossy(&piece[..length]).into_owned())
        }
        "add" => {
            let file = open.file.as_mut().ok_or(std::io::ErrorKind::NotFound)?;
            file.write_all(text.as_bytes()).map(done)
        }
        other => Err(std::io::Error::other(format!("nothing called {other}"))),
    }
}

fn prepared(method: &Method, url: &str, header: &str) -> Result<OutgoingRequest, String> {
    let rest = url.strip_prefix("http://").ok_or("no scheme")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let fields = Fields::new();
    if let Some((name, value)) = header.split_once(": ") {
        fields.append(name, value.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let _ = (request.set_method(method), request.set_scheme(Some(&Scheme::Http)));
    let _ = (request.set_authority(Some(authority)), request.set_path_with_query(Some(path)));
    Ok(request)
}

/// The body is written once the request is on its way.
fn request(method: Method, url: &str, body: &str, header: &str) -> Result<IncomingResponse, String> {
    let length = format!("content-length: {}", body.len());
    let request = prepared(&method, url, if body.is_empty() { header } else { &length })?;
    let outgoing = (!body.is_empty()).then(|| request.body().expect("the first body"));
    let answer = handle(request, None).map_err(|code| format!("{code:?}"))?;
    if let Some(outgoing) = outgoing {
        let stream = outgoing.write().expect("the first stream");
        for piece in body.as_bytes().chunks(7) {
            stream.blocking_write_and_flush(piece).map_err(|error| format!("{error:?}"))?;
        }
        drop(stream);
        OutgoingBody::finish(outgoing, None).map_err(|code| format!("{code:?}"))?;
    }
    wait(&answer)
}

fn wait(answer: &wasip2::http::types::FutureIncomingResponse) -> Result<IncomingResponse, String> {
    answer.subscribe().block();
    match answer.get() {
        Some(Ok(Ok(answer))) => Ok(answer),
        Some(Ok(Err(code))) => Err(format!("{code:?}")),
        other => Err(format!("no answer: {}", other.is_some())),
    }
}

/// Status and body.
fn answered(answer: IncomingResponse) -> String {
    let body = answer.consume().expect("the first look");
    let stream = body.stream().expect("the first stream");
    let mut read = Vec::new();
    while let Ok(piece) = stream.blocking_read(1 << 16) {
        read.extend(piece);
    }
    format!("{} {}", answer.status(), String::from_utf8_lossy(&read[..read.len().min(60)]))
}
