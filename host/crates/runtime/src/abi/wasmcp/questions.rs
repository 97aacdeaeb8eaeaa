//! Questions of a session to the user. In the dialect, a component waits for the answer after it has asked. Here the answer is
//! there when the question returns, and the component is told at once that it need not wait.

use super::super::guest::Guest;
use super::super::plain::json_size;
use super::super::store::{Store, charge_with_bytes};
use super::super::values::{RecordFields, full_case, none, record, some, string, text};
use super::form_schema::form_schema;
use super::handles::drop_handles;
use crate::imports::{ClientAnswer, ClientError, Consent, FormAnswer, Question, UrlTarget, price};
use serde_json::Value;
use wasmtime::Error;
use wasmtime::component::{LinkerInstance, Resource, ResourceAny, ResourceType, Val};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

/// An answer that is there already.
struct FutureElicitResult(Val);

#[async_trait::async_trait]
impl Pollable for FutureElicitResult {
    async fn ready(&mut self) {}
}

pub(super) fn add_to_linker(sessions: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    sessions.resource("future-elicit-result", ResourceType::host::<FutureElicitResult>(), |mut store, rep| {
        store.data_mut().ctx().table.delete(Resource::<FutureElicitResult>::new_own(rep))?;
        Ok(())
    })?;
    sessions.func_wrap_async(
        "[method]future-elicit-result.subscribe",
        |mut store: Store<'_>, (future,): (Resource<FutureElicitResult>,)| {
            Box::new(async move {
                charge_with_bytes(&mut store, price::CALL, 0)?;
                let pollable: Resource<DynPollable> = subscribe(store.data_mut().ctx().table, future)?;
                Ok((pollable,))
            })
        },
    )?;
    // These functions get untyped values, because their types differ between the dialects.
    sessions.func_new_async("[method]future-elicit-result.elicit-result", |mut store, _, params, results| {
        Box::new(async move {
            let [Val::Resource(future)] = params else { return Err(wrong()) };
            let future: Resource<FutureElicitResult> = future.try_into_resource(&mut store)?;
            let answer = store.data_mut().ctx().table.get(&future)?.0.clone();
            charge_with_bytes(&mut store, price::CALL, json_size(&answer))?;
            put(results, answer);
            Ok(())
        })
    })?;
    sessions.func_new_async("[method]session.elicit", |mut store, _, params, results| {
        Box::new(async move {
            let [.., request] = params else { return Err(wrong()) };
            let bytes = json_size(request);
            charge_with_bytes(&mut store, price::QUESTION, bytes)?;
            let question = question(request.clone())?;
            drop_handles(&mut store, params).await?;
            store.data_mut().count_host_bytes(bytes);
            let asked = store.data_mut().imports()?.client().ask(vec![(None, question)]).await;
            let answer = match asked.map(|answers| answers.into_iter().next().and_then(answer)) {
                Ok(Some(answer)) => {
                    let future = store.data_mut().ctx().table.push(FutureElicitResult(answer))?;
                    Ok(Some(Box::new(Val::Resource(ResourceAny::try_from_resource(future, &mut store)?))))
                }
                Ok(None) => Err(unexpected("the client gave an answer of another kind".into())),
                Err(error) => Err(unexpected(reason(error))),
            };
            put(results, Val::Result(answer));
            Ok(())
        })
    })
}

fn put(results: &mut [Val], value: Val) {
    if let Some(result) = results.first_mut() {
        *result = value;
    }
}

/// The older dialect has forms only.
fn question(request: Val) -> wasmtime::Result<Question> {
    let (case, request) = match request {
        request @ Val::Record(_) => ("form".to_owned(), request),
        variant => full_case(variant)?,
    };
    let mut request = RecordFields::read(request)?;
    let message = request.take("message", text)?;
    Ok(match case.as_str() {
        "form" => Question::Form { message, schema: request.take("requested-schema", form_schema)? },
        _ => Question::Url { message, target: UrlTarget::Address(request.take("url", text)?) },
    })
}

fn answer(answer: ClientAnswer) -> Option<Val> {
    let (action, content) = match answer {
        ClientAnswer::Form(FormAnswer::Accepted(content)) => ("accept", Some(content)),
        ClientAnswer::Form(FormAnswer::Declined) | ClientAnswer::Url(Consent::Decline) => ("decline", None),
        ClientAnswer::Form(FormAnswer::Cancelled) | ClientAnswer::Url(Consent::Cancel) => ("cancel", None),
        ClientAnswer::Url(Consent::Accept) => ("accept", None),
        ClientAnswer::Sample(_) | ClientAnswer::Roots(_) => return None,
    };
    let content = match content {
        None => none(),
        Some(content) => {
            let fields: serde_json::Map<String, Value> = serde_json::from_str(&content).ok()?;
            let field = |(name, value)| Some(Val::Tuple(vec![string(name), field(value)?]));
            some(Val::List(fields.into_iter().map(field).collect::<Option<_>>()?))
        }
    };
    Some(record(vec![("meta", none()), ("action", Val::Enum(action.into())), ("content", content)]))
}

/// None for any other kind of value, which cannot occur, since the answer has been checked against the form.
fn field(value: Value) -> Option<Val> {
    let (case, value) = match value {
        Value::String(text) => ("string", string(text)),
        Value::Number(number) => ("number", Val::Float64(number.as_f64()?)),
        Value::Bool(value) => ("boolean", Val::Bool(value)),
        Value::Array(items) => {
            let texts = items.into_iter().map(|item| item.as_str().map(string)).collect::<Option<_>>()?;
            ("string-array", Val::List(texts))
        }
        Value::Null | Value::Object(_) => return None,
    };
    Some(Val::Variant(case.into(), Some(Box::new(value))))
}

fn unexpected(reason: String) -> Option<Box<Val>> {
    Some(Box::new(Val::Variant("unexpected".into(), Some(Box::new(string(reason))))))
}

fn reason(error: ClientError) -> String {
    match error {
        ClientError::Unsupported(ability) => format!("the client cannot be asked: it lacks {}", ability.name()),
        ClientError::Denied(denial) => {
            format!("`{}` is not allowed to this plugin. {}", denial.capability, denial.remedy)
        }
        ClientError::Timeout(ms) => format!("there was no answer within {ms} ms"),
        ClientError::Exhausted(budget) => format!("no more questions are left: {} is what a call has", budget.limit),
        ClientError::Cancelled => "the call was cancelled".into(),
        ClientError::NotOffered(reason)
        | ClientError::Invalid(reason)
        | ClientError::Declined(reason)
        | ClientError::NotAnswered(reason)
        | ClientError::Failed(reason) => reason,
    }
}

/// The linker knows the names of these functions, not their types.
fn wrong() -> Error {
    Error::msg("`sessions` of wasmcp is called with other parameters than it has")
}
