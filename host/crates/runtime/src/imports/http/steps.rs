//! The functions of `wasi:http` that report to a guest how far its requests and their answers are. Each report is a step.

use super::super::streams::{HttpFailure, JournaledInput, JournaledOutput, wrap_input, wrap_output};
use super::answered::Streamed;
use super::headers;
use super::hooks::HttpHost;
use super::request_parts::limit_parts;
use serde::{Deserialize, Serialize};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, Pollable as _};
use wasmtime_wasi_http::p2::add_only_http_to_linker_async;
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, HostFutureIncomingResponse as FutureAnswer, HostFutureTrailers as FutureTrailers, HostIncomingBody as _,
    HostIncomingResponse as _, HostOutgoingBody as _, Trailers,
};
use wasmtime_wasi_http::p2::body::{HostFutureTrailers, HostIncomingBody, HostOutgoingBody};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostIncomingResponse};

type Caller<'a, T> = StoreContextMut<'a, T>;

/// Links `wasi:http`.
pub fn add_to_linker<T: HttpHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    add_only_http_to_linker_async(linker)?;
    limit_parts(linker)?;
    headers::add_to_linker(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap_async("[method]future-incoming-response.get", get_answer)?;
    types.func_wrap("[method]incoming-response.consume", consume)?;
    types.func_wrap("[method]incoming-body.stream", read_body)?;
    types.func_wrap_async("[method]future-trailers.get", get_trailers)?;
    types.func_wrap("[method]outgoing-body.write", write_body)?;
    linker.allow_shadowing(false);
    Ok(())
}

pub(super) type GotAnswer = (Option<Result<Result<Resource<HostIncomingResponse>, ErrorCode>, ()>>,);

/// Records only whether the answer is there; the answer itself is recorded by the step of the request.
pub(super) fn get_answer<'a, T: HttpHost>(
    mut store: Caller<'a, T>,
    (future,): (Resource<HostFutureIncomingResponse>,),
) -> Box<dyn Future<Output = wasmtime::Result<GotAnswer>> + Send + 'a> {
    Box::new(async move {
        let data = store.data_mut();
        let journal = data.hooks().journal.clone();
        if !journal.is_on() {
            return Ok((FutureAnswer::get(&mut data.http(), future)?,));
        }
        let mut step = journal.begin("http.get-answer", &()).or_nothing(&false);
        let is_there = match step.recorded().await {
            Some(is_there) => is_there,
            None => {
                let answer = data.http().table.get_mut(&future)?;
                // An earlier run may have told the guest that the answer of its own request was there.
                if journal.is_resumed() {
                    answer.ready().await;
                }
                let is_there = !matches!(answer, HostFutureIncomingResponse::Pending(_));
                step.see(|| is_there)
            }
        };
        if !is_there {
            return Ok((None,));
        }
        // In a replay, the answer also comes from the journal.
        let http = data.http();
        let answer = http.table.get_mut(&future)?;
        answer.ready().await;
        let streamed = match answer {
            HostFutureIncomingResponse::Ready(Ok((answer, _))) => answer.extensions().get::<Streamed>().cloned(),
            _ => None,
        };
        let got = FutureAnswer::get(&mut data.http(), future)?;
        if let Some(Ok(Ok(answer))) = &got {
            data.hooks().set_streamed(answer.rep(), streamed.map(|Streamed(end)| end));
        }
        Ok((got,))
    })
}

pub(super) type Consumed = (Result<Resource<HostIncomingBody>, ()>,);

pub(super) fn consume<T: HttpHost>(
    mut store: Caller<'_, T>,
    (answer,): (Resource<HostIncomingResponse>,),
) -> wasmtime::Result<Consumed> {
    let (data, of) = (store.data_mut(), answer.rep());
    let body = data.http().consume(answer)?;
    if let Ok(body) = &body {
        let streamed = data.hooks().streamed(of);
        data.hooks().set_streamed(body.rep(), streamed);
    }
    Ok((body,))
}

pub(super) fn read_body<T: HttpHost>(
    mut store: Caller<'_, T>,
    (body,): (Resource<HostIncomingBody>,),
) -> wasmtime::Result<(Result<Resource<DynInputStream>, ()>,)> {
    let (data, of) = (store.data_mut(), body.rep());
    let stream = data.http().stream(body)?;
    if let (Some(end), Ok(stream)) = (data.hooks().streamed(of), &stream) {
        let journal = data.hooks().journal.clone();
        wrap_input(data.http().table, stream, |inner| JournaledInput::of_connection(inner, journal, end))?;
    }
    Ok((stream,))
}

/// How far the trailers of an answer are. Our sender passes on none.
#[derive(Serialize, Deserialize)]
enum Ended {
    NotYet,
    Taken,
    Now(Result<(), HttpFailure>),
}

pub(super) type GotTrailers = (Option<Result<Result<Option<Resource<Trailers>>, ErrorCode>, ()>>,);

pub(super) fn get_trailers<'a, T: HttpHost>(
    mut store: Caller<'a, T>,
    (trailers,): (Resource<HostFutureTrailers>,),
) -> Box<dyn Future<Output = wasmtime::Result<GotTrailers>> + Send + 'a> {
    Box::new(async move {
        let data = store.data_mut();
        let journal = data.hooks().journal.clone();
        if journal.is_on() {
            let place = data.http().table.get_mut(&trailers)?;
            let mut step = journal.begin("http.get-trailers", &());
            let ended = match step.recorded().await {
                Some(ended) => ended,
                None => {
                    if journal.is_resumed() {
                        place.ready().await;
                    }
                    step.see(|| match &*place {
                        HostFutureTrailers::Waiting(_) => Ended::NotYet,
                        HostFutureTrailers::Consumed => Ended::Taken,
                        HostFutureTrailers::Done(ended) => Ended::Now(ended.as_ref().map(|_| ()).map_err(Into::into)),
                    })
                }
            };
            *place = match ended {
                Ended::NotYet => return Ok((None,)),
                Ended::Taken => HostFutureTrailers::Consumed,
                Ended::Now(ended) => HostFutureTrailers::Done(ended.map(|()| None).map_err(Into::into)),
            };
        }
        Ok((FutureTrailers::get(&mut data.http(), trailers)?,))
    })
}

pub(super) fn write_body<T: HttpHost>(
    mut store: Caller<'_, T>,
    (body,): (Resource<HostOutgoingBody>,),
) -> wasmtime::Result<(Result<Resource<DynOutputStream>, ()>,)> {
    let data = store.data_mut();
    let stream = data.http().write(body)?;
    let hooks = data.hooks();
    if let (true, Ok(stream)) = (hooks.journal.is_on(), &stream) {
        let (journal, written) = (hooks.journal.clone(), hooks.body_bytes.clone());
        wrap_output(data.http().table, stream, |inner| JournaledOutput::new(inner, journal, written))?;
    }
    Ok((stream,))
}
