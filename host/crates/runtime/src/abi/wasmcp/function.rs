//! One exported function: all of them take a context and a request, and return a result.

use super::super::guest::Guest;
use super::super::plain::json_size;
use super::super::store::charge_with_bytes;
use super::super::values::{
    RecordFields, TypeCheck, full_case, list, mismatch, none, option, record, result, signed, some, string, text,
};
use super::sessions::STORE;
use crate::imports::{ToolError, price};
use wasmtime::component::types::{ComponentFunc, Type};
use wasmtime::component::{ComponentExportIndex, Instance, ResourceAny, Val};
use wasmtime::{AsContextMut as _, Error, Store};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::DynOutputStream;
use wasmtime_wasi::p2::pipe::ClosedOutputStream;

/// Pages of one list. Bounds a list that never ends.
const MAX_PAGES: usize = 64;
/// Items of one list: more than any plugin may offer.
const MAX_ITEMS: usize = 1_024;

/// What the fields of a context are filled with.
enum Part {
    /// Stands for the client in `server-io`. What is written into it goes nowhere: only messages are sent.
    Stream,
    Version,
    Frame,
    /// The session of the call, for a component that imports `sessions`.
    Session,
    Nothing,
}

pub(super) struct WasmcpFunction {
    index: ComponentExportIndex,
    context: Vec<(String, Part)>,
    /// The fields of the request, and which are optional.
    request: Vec<(String, bool)>,
}

/// An error of JSON-RPC, as the component returned it.
pub(super) struct Failure {
    kind: String,
    code: i64,
    message: String,
}

impl Failure {
    fn read(value: Val) -> wasmtime::Result<Self> {
        let (kind, error) = full_case(value)?;
        let mut error = RecordFields::read(error)?;
        Ok(Self { kind, code: error.take("code", signed)?, message: error.take("message", text)? })
    }

    /// Whether it means that there is no such resource.
    pub(super) fn is_not_found(&self) -> bool {
        self.code == -32_002
    }

    pub(super) fn into_tool_error(self) -> ToolError {
        match self.kind.as_str() {
            "invalid-params" => ToolError::InvalidArguments(self.message),
            _ => ToolError::Failed(self.message),
        }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl WasmcpFunction {
    /// `given`: the fields of the request that this host knows. The error is the end of a sentence about the function.
    pub(super) fn new(
        index: ComponentExportIndex,
        ty: &ComponentFunc,
        given: &[&str],
        types: &mut TypeCheck,
    ) -> Result<Self, String> {
        if ty.async_() {
            return Err("is asynchronous, and this host has no asynchronous functions; build it for WASI 0.2".into());
        }
        let params: Vec<Type> = ty.params().map(|(_, ty)| ty).collect();
        let [Type::Record(context), Type::Record(request)] = params.as_slice() else {
            return Err("does not take a context and a request".into());
        };
        let context = context.fields().map(|field| {
            let part = match (field.name, &field.ty) {
                ("client-stream", Type::Option(stream)) if matches!(stream.ty(), Type::Borrow(_)) => Part::Stream,
                ("protocol-version", Type::String) => Part::Version,
                ("frame", Type::Record(_)) => Part::Frame,
                ("session", Type::Option(session)) if is_session(&session.ty()) => Part::Session,
                (_, Type::Option(_)) => Part::Nothing,
                _ => return Err("takes a context with more than this host can give".to_owned()),
            };
            Ok((field.name.to_owned(), part))
        });
        let request = request.fields().map(|field| match (&field.ty, given.contains(&field.name)) {
            (Type::Option(_), _) => Ok((field.name.to_owned(), true)),
            (_, true) => Ok((field.name.to_owned(), false)),
            (_, false) => Err("takes a request with more than this host can give".to_owned()),
        });
        let (context, request) = (context.collect::<Result<_, _>>()?, request.collect::<Result<_, _>>()?);
        ty.results().try_for_each(|ty| types.check(&ty))?;
        Ok(Self { index, context, request })
    }

    /// Calls it with these fields of its request.
    pub(super) async fn call(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        version: &str,
        session: Option<String>,
        mut given: Vec<(&str, Val)>,
    ) -> wasmtime::Result<Result<Val, Failure>> {
        let mut fill = |(name, is_optional): &(String, bool)| {
            let value = given.iter().position(|(field, _)| field == name).map(|at| given.swap_remove(at).1);
            let value = match (value, is_optional) {
                (Some(value), true) => some(value),
                (Some(value), false) => value,
                (None, true) => none(),
                (None, false) => return Err(Error::msg("a field of the request is missing")),
            };
            Ok((name.clone(), value))
        };
        let request = self.request.iter().map(&mut fill).collect::<wasmtime::Result<_>>()?;
        let mut context = Vec::with_capacity(self.context.len());
        for (name, part) in &self.context {
            let value = match part {
                Part::Stream => some(Val::Resource(client_stream(store)?)),
                Part::Version => string(version),
                Part::Frame => record(vec![("prefix", Val::List(vec![])), ("suffix", Val::List(vec![Val::U8(b'\n')]))]),
                Part::Session => session.clone().map_or_else(none, |id| some(session_info(id))),
                Part::Nothing => none(),
            };
            context.push((name.clone(), value));
        }
        let params = [Val::Record(context), Val::Record(request)];
        let bytes = json_size(&params[1]);
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, bytes)?;
        let function = instance.get_func(&mut *store, self.index);
        let function = function.ok_or_else(|| Error::msg("the component lacks a function that it exports"))?;
        let mut results = [Val::Bool(false)];
        function.call_async(&mut *store, &params, &mut results).await?;
        let [returned] = results;
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, json_size(&returned))?;
        result(returned)?.map_or_else(|error| Failure::read(error).map(Err), |value| Ok(Ok(value)))
    }

    /// Calls it until it has listed all pages; `member` is the list in its result.
    pub(super) async fn list<T>(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        version: &str,
        member: &str,
        mut read: impl FnMut(Val) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<Vec<T>> {
        let (mut items, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let given = cursor.take().map(|cursor| ("cursor", string(cursor)));
            let page = self.call(store, instance, version, None, given.into_iter().collect()).await?;
            let page = page.map_err(|failure| Error::msg(format!("it cannot list: {}", failure.message())))?;
            let mut page = RecordFields::read(page)?;
            cursor = page.option("next-cursor", text)?;
            items.extend(page.take(member, |value| list(value, &mut read))?);
            if items.len() > MAX_ITEMS {
                return Err(Error::msg(format!("it lists more than {MAX_ITEMS} items")));
            }
            if cursor.is_none() {
                return Ok(items);
            }
        }
        Err(Error::msg(format!("its list does not end after {MAX_PAGES} pages")))
    }

    /// The answer to a call, if the component has what was called.
    pub(super) async fn ask(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        version: &str,
        session: Option<String>,
        given: Vec<(&str, Val)>,
    ) -> wasmtime::Result<Result<Option<Val>, Failure>> {
        let answer = self.call(store, instance, version, session, given).await?;
        answer.map_or_else(|failure| Ok(Err(failure)), |value| option(value).map(Ok))
    }
}

fn is_session(ty: &Type) -> bool {
    let Type::Record(ty) = ty else { return false };
    ty.fields().all(|field| ["session-id", "store-id"].contains(&field.name) && field.ty == Type::String)
        && ty.fields().len() == 2
}

fn session_info(id: String) -> Val {
    record(vec![("session-id", string(id)), ("store-id", string(STORE))])
}

fn client_stream(store: &mut Store<Guest>) -> wasmtime::Result<ResourceAny> {
    let stream: DynOutputStream = Box::new(ClosedOutputStream);
    let handle = store.data_mut().ctx().table.push(stream).map_err(|_| mismatch("a free handle"))?;
    ResourceAny::try_from_resource(handle, store)
}
