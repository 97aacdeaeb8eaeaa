//! Random calls that send requests, are stopped at random records and then continued: each gets the same answers in the end and
//! has done the same to the server, or its host reports that it does not know what has become of a request.

use super::super::replay_fixture::{ReplayHost, ReplayRun, WEB};
use super::super::wasi::block;
use super::access::{Egress, Http, HttpBody, HttpRequest};
use super::error::HttpError;
use super::steps::{consume, get_answer, get_trailers, read_body, write_body};
use crate::journal::{CallJournal, JournalProblem};
use async_trait::async_trait;
use bytes::Bytes;
use fastrand::Rng;
use futures::stream;
use http::Response;
use http_body_util::{BodyExt as _, Full, StreamBody};
use platform::outbound::Frame;
use platform::sync::Mutex;
use policy::HttpTarget;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::yield_now;
use wasmtime::component::Resource;
use wasmtime::{AsContextMut as _, Engine, Store};
use wasmtime_wasi::p2::bindings::io::poll::HostPollable;
use wasmtime_wasi::p2::bindings::io::streams::{HostInputStream, HostOutputStream};
use wasmtime_wasi::p2::{DynPollable, StreamError};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{
    HostFields as _, HostFutureIncomingResponse as FutureAnswer, HostFutureTrailers, HostIncomingBody,
    HostIncomingResponse as _, HostOutgoingBody, HostOutgoingRequest, Method, Scheme,
};
use wasmtime_wasi_http::p2::types::HostFutureIncomingResponse;

const STEPS: usize = 16;
/// There are few, so that requests find what others have left.
const PLACES: usize = 4;
/// Requests of one call that are under way at once.
const OPEN: usize = 3;
/// Processes that end in the middle of one call, at most.
const ENDS: u64 = 3;
/// What the guest gets for a body that ended with its process.
const BROKE_OFF: &str = " broke off";

/// What a server keeps.
#[derive(Debug, Default, Clone, PartialEq)]
struct Kept {
    values: BTreeMap<String, String>,
    /// What was added, in alphabetical order.
    added: Vec<String>,
    keys: BTreeMap<String, String>,
}

impl Kept {
    fn answer(&mut self, method: &str, path: &str, key: Option<String>, body: String) -> String {
        match (method, key) {
            ("PUT", _) => {
                self.values.insert(path.to_owned(), body);
                "put".to_owned()
            }
            ("DELETE", _) => {
                self.values.remove(path);
                "gone".to_owned()
            }
            ("POST", None) => self.add(body),
            ("POST", Some(key)) => match self.keys.get(&key).cloned() {
                Some(before) => before,
                None => {
                    let answer = self.add(body);
                    self.keys.insert(key, answer.clone());
                    answer
                }
            },
            _ => self.values.get(path).cloned().unwrap_or_default(),
        }
    }

    fn add(&mut self, body: String) -> String {
        let answer = format!("added {body}");
        self.added.push(body);
        self.added.sort();
        answer
    }
}

/// A server in memory, which outlives the processes of the host.
#[derive(Default)]
struct Web(Mutex<Kept>);

#[async_trait]
impl Egress for Web {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<Response<HttpBody>, HttpError> {
        let (target, _) = HttpTarget::parse_request(&request.method, &request.url).map_err(HttpError::Request)?;
        call.authorize(&target)?;
        let path = request.url.as_str();
        if path.contains("silent") {
            return Err(HttpError::Connect);
        }
        let key = request.headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned());
        let body = request.body.collect().await?.to_bytes();
        yield_now().await;
        let said = self.0.lock().answer(&request.method, path, key, String::from_utf8_lossy(&body).into_owned());
        yield_now().await;
        // The length of the body is declared or not.
        let body = if path.contains("whole") {
            Full::new(Bytes::from(said)).map_err(|never| match never {}).boxed_unsync()
        } else {
            let pieces: Vec<_> =
                said.into_bytes().chunks(4).map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))).collect();
            StreamBody::new(stream::iter(pieces)).boxed_unsync()
        };
        Ok(Response::builder().status(200).header("kind", request.method).body(body).unwrap())
    }
}

fn again<T: 'static>(of: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(of.rep())
}

/// A request whose answer the guest has not asked for.
struct Open {
    place: usize,
    answer: Resource<HostFutureIncomingResponse>,
}

/// Sends a request, with a body in pieces.
async fn send(
    store: &mut Store<ReplayHost>,
    (method, authority, path): (Method, &str, &str),
    key: Option<String>,
    pieces: Vec<String>,
) -> wasmtime::Result<Resource<HostFutureIncomingResponse>> {
    let mut http = store.data_mut().http();
    let headers = key.map(|key| ("idempotency-key".to_owned(), key.into_bytes())).into_iter().collect();
    let headers = http.from_list(headers).unwrap();
    let request = HostOutgoingRequest::new(&mut http, headers)?;
    HostOutgoingRequest::set_method(&mut http, again(&request), method)?.unwrap();
    HostOutgoingRequest::set_scheme(&mut http, again(&request), Some(Scheme::Http))?.unwrap();
    HostOutgoingRequest::set_authority(&mut http, again(&request), Some(authority.to_owned()))?.unwrap();
    HostOutgoingRequest::set_path_with_query(&mut http, again(&request), Some(path.to_owned()))?.unwrap();
    let body = HostOutgoingRequest::body(&mut http, again(&request))?.unwrap();
    let answer = http.handle(request, None).unwrap();
    let (stream,) = write_body(store.as_context_mut(), (again(&body),))?;
    let stream = stream.unwrap();
    for piece in pieces {
        // A server that does not answer may or may not have read it by now.
        let table = &mut store.data_mut().table;
        drop(table.blocking_write_and_flush(again(&stream), piece.into_bytes()).await);
    }
    HostOutputStream::drop(&mut store.data_mut().table, stream).await?;
    drop(HostOutgoingBody::finish(&mut store.data_mut().http(), body, None));
    Ok(answer)
}

async fn wait(store: &mut Store<ReplayHost>, one: Resource<DynPollable>) -> wasmtime::Result<()> {
    Box::into_pin(block(store.as_context_mut(), (again(&one),))).await?;
    HostPollable::drop(&mut store.data_mut().table, one)
}

/// What the guest gets of an answer.
async fn receive(
    store: &mut Store<ReplayHost>,
    future: Resource<HostFutureIncomingResponse>,
) -> wasmtime::Result<String> {
    let answer = loop {
        if let (Some(answer),) = Box::into_pin(get_answer(store.as_context_mut(), (again(&future),))).await? {
            break answer.unwrap();
        }
        let there = FutureAnswer::subscribe(&mut store.data_mut().http(), again(&future))?;
        wait(store, there).await?;
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Ok(format!("{error:?}")),
    };
    let mut told = format!("{}: ", store.data_mut().http().status(again(&answer))?);
    let (body,) = consume(store.as_context_mut(), (again(&answer),))?;
    let body = body.unwrap();
    let (stream,) = read_body(store.as_context_mut(), (again(&body),))?;
    let stream = stream.unwrap();
    let failed = loop {
        match HostInputStream::blocking_read(&mut store.data_mut().table, again(&stream), 7).await {
            Ok(bytes) => told.push_str(&String::from_utf8_lossy(&bytes)),
            Err(StreamError::Closed) => break false,
            Err(_) => break true,
        }
    };
    HostInputStream::drop(&mut store.data_mut().table, stream).await?;
    if failed {
        return Ok(told + BROKE_OFF);
    }
    let trailers = HostIncomingBody::finish(&mut store.data_mut().http(), body)?;
    loop {
        if let (Some(ended),) = Box::into_pin(get_trailers(store.as_context_mut(), (again(&trailers),))).await? {
            return Ok(format!("{told} {:?}", ended.unwrap().map(|trailers| trailers.is_some())));
        }
        let there = HostFutureTrailers::subscribe(&mut store.data_mut().http(), again(&trailers))?;
        wait(store, there).await?;
    }
}

/// Does what the numbers select, so that each run of the call does the same.
async fn random(store: &mut Store<ReplayHost>, mut rng: Rng) -> wasmtime::Result<Vec<String>> {
    let (mut told, mut open) = (Vec::new(), Vec::<Open>::new());
    for step in 0..STEPS {
        let place = rng.usize(..PLACES);
        let is_free = open.iter().all(|open| open.place != place);
        if open.len() < OPEN && is_free && rng.usize(..3) > 0 {
            let method = [Method::Get, Method::Put, Method::Post, Method::Post, Method::Delete];
            let method = rng.choice(method).unwrap();
            let kind = rng.choice(["whole", "whole", "whole", "pieces", "pieces", "silent"]).unwrap();
            let server = if rng.usize(..9) == 0 { "denied.test" } else { WEB };
            let key = (rng.usize(..3) == 0).then(|| format!("key {step}"));
            let pieces = match method {
                Method::Put | Method::Post => {
                    (0..rng.usize(1..4)).map(|piece| format!("step {step}, {piece}. ")).collect()
                }
                _ => Vec::new(),
            };
            let path = format!("/{kind}/{place}");
            open.push(Open { place, answer: send(store, (method, server, &path), key, pieces).await? });
        } else if !open.is_empty() {
            let Open { answer, .. } = open.swap_remove(rng.usize(..open.len()));
            told.push(receive(store, answer).await?);
        }
    }
    for Open { answer, .. } in open {
        told.push(receive(store, answer).await?);
    }
    Ok(told)
}

/// A body that ended with its process may be shorter.
fn is_same(told: &str, plain: &str) -> bool {
    told == plain || told.strip_suffix(BROKE_OFF).is_some_and(|begun| plain.starts_with(begun))
}

#[tokio::test]
async fn a_random_call_that_is_stopped_has_sent_the_same() {
    check(300).await;
}

#[tokio::test]
#[ignore = "takes minutes; `cargo xtask crash --programs` runs it"]
async fn ten_thousand_calls_that_are_stopped_have_sent_the_same() {
    check(10_000).await;
}

async fn check(calls: u64) {
    let (mut same, mut unknown) = (0, 0);
    for seed in 0..calls {
        let (call, mut rng) = (Rng::with_seed(seed), Rng::with_seed(!seed));
        let run = ReplayRun::new(0, rng.bool());
        let plain = Arc::<Web>::default();
        let host = ReplayHost::new(run.folder.path(), plain.clone(), CallJournal::default());
        let told = random(&mut Store::new(&Engine::default(), host), call.clone()).await.unwrap();
        let plain = plain.0.lock().clone();
        let web = Arc::<Web>::default();
        let run = run.with(web.clone());
        let ended = run.to_end(&mut rng, ENDS, async |store| random(store, call.clone()).await).await;
        let kept = web.0.lock().clone();
        match ended {
            Ok(second) => {
                let same_told = second.iter().zip(&told).all(|(second, told)| is_same(second, told));
                assert!(same_told && second.len() == told.len(), "call {seed}: {second:#?} instead of {told:#?}");
                assert_eq!(kept, plain, "call {seed}");
                same += 1;
            }
            Err(JournalProblem::Unknown { import, .. }) => {
                assert_eq!(import, "http.handle", "call {seed}");
                let is_twice = kept.added.windows(2).any(|two| two[0] == two[1]);
                assert!(
                    !is_twice && kept.added.iter().all(|added| plain.added.contains(added)),
                    "call {seed}: {kept:?}"
                );
                unknown += 1;
            }
            Err(problem) => panic!("call {seed}: {problem:?}"),
        }
    }
    assert!(same * 2 > calls && unknown > 0, "{same} of {calls} came to the same, {unknown} were unknown");
}
