//! What a component imports of wasmcp: messages to the client become log records and progress. Its transport and its
//! middleware are the host's: their functions are there, since some toolchains import them all, and do nothing.

use super::super::guest::Guest;
use super::super::plain::json_size;
use super::super::store::{Store, charge_with_bytes};
use super::super::values::{Fields, TypeCheck, enumerated, float, full_case, none, string, text};
use crate::imports::{LogLevel, ProgressReport, price};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceAny, Val};

/// Both dialects.
const PACKAGES: [&str; 2] = ["wasmcp:mcp-v20251125", "wasmcp:mcp-v20250618"];
/// Stands for all that are compatible.
const VERSION: &str = "0.1.0";
/// What is linked, or has only types.
const INTERFACES: [&str; 4] = ["mcp", "server-io", "server-handler", "server-auth"];
/// Only types of it may be imported.
const AUTH_TYPES: &str = "wasmcp:auth/types@0.1.";

pub(in super::super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    for package in PACKAGES {
        let mut io = linker.instance(&format!("{package}/server-io@{VERSION}"))?;
        io.func_new_async("send-message", |store, _, params, results| {
            Box::new(answer(store, params, results, |store, params| {
                Ok(send(store, params)?.map_or_else(refused, |()| Val::Result(Ok(None))))
            }))
        })?;
        io.func_new_async("flush-buffer", |store, _, params, results| {
            Box::new(answer(store, params, results, |_, _| Ok(Val::Result(Ok(None)))))
        })?;
        io.func_new_async("parse-message", |store, _, params, results| {
            let reason = "messages of the client are read by the host";
            Box::new(answer(store, params, results, move |_, _| Ok(refused(reason.into()))))
        })?;
        let mut handler = linker.instance(&format!("{package}/server-handler@{VERSION}"))?;
        handler.func_new_async("handle", |store, _, params, results| {
            Box::new(answer(store, params, results, |_, _| Ok(none())))
        })?;
        let mut auth = linker.instance(&format!("{package}/server-auth@{VERSION}"))?;
        auth.func_new_async("decode", |store, _, params, results| {
            Box::new(answer(store, params, results, |_, _| Ok(Val::Result(Err(None)))))
        })?;
        auth.func_new_async("authorize", |store, _, params, results| {
            Box::new(answer(store, params, results, |_, _| Ok(Val::Bool(false))))
        })?;
    }
    Ok(())
}

/// Answers one call: charges for what was passed, and gives back the handles that were lent.
async fn answer(
    mut store: Store<'_>,
    params: &[Val],
    results: &mut [Val],
    work: impl FnOnce(&mut Store<'_>, &[Val]) -> wasmtime::Result<Val> + Send,
) -> wasmtime::Result<()> {
    charge_with_bytes(&mut store, price::CALL, params.iter().map(json_size).sum())?;
    let value = work(&mut store, params)?;
    if let Some(result) = results.first_mut() {
        *result = value;
    }
    let mut handles = Vec::new();
    params.iter().for_each(|param| find_handles(param, &mut handles));
    for handle in handles {
        handle.resource_drop_async(&mut store).await?;
    }
    Ok(())
}

/// Also those within a message or a context.
fn find_handles(value: &Val, found: &mut Vec<ResourceAny>) {
    match value {
        Val::Resource(handle) => found.push(*handle),
        // Bytes, mostly.
        Val::List(items) if matches!(items.first(), Some(Val::U8(_))) => {}
        Val::List(items) | Val::Tuple(items) => items.iter().for_each(|item| find_handles(item, found)),
        Val::Record(fields) => fields.iter().for_each(|(_, field)| find_handles(field, found)),
        Val::Variant(_, Some(value)) | Val::Option(Some(value)) | Val::Result(Ok(Some(value)) | Err(Some(value))) => {
            find_handles(value, found);
        }
        _ => {}
    }
}

/// Before a component is linked; the error is a sentence. Also checks the types of the imports, which the linker does not.
pub(in super::super) fn check_imports(engine: &Engine, component: &Component) -> Result<(), String> {
    let mut types = TypeCheck::new();
    for (name, item) in component.component_type().imports(engine) {
        let Some(rest) = name.strip_prefix("wasmcp:") else { continue };
        let of_dialect = PACKAGES.iter().find_map(|package| name.strip_prefix(&format!("{package}/")));
        let is_known = of_dialect
            .and_then(|name| name.split_once("@0.1."))
            .is_some_and(|(interface, _)| INTERFACES.contains(&interface));
        if !is_known && !name.starts_with(AUTH_TYPES) {
            return Err(match rest.contains("/session") {
                true => format!(
                    "`{name}`: this host has no sessions of wasmcp. Build the component without them; what outlives a call is kept by \
                     `portcullis:plugin/state`"
                ),
                false => format!(
                    "`{name}`, of wasmcp. Build the component without it, or compose it with one that exports it"
                ),
            });
        }
        let ComponentItem::ComponentInstance(interface) = item.ty else { continue };
        for (function, item) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(ty) = item.ty {
                let mut all = ty.params().map(|(_, ty)| ty).chain(ty.results());
                all.try_for_each(|ty| types.check(&ty))
                    .map_err(|reason| format!("`{name}#{function}`, which {reason}"))?;
            }
        }
    }
    Ok(())
}

fn refused(reason: String) -> Val {
    Val::Result(Err(Some(Box::new(Val::Variant("unexpected".into(), Some(Box::new(string(reason))))))))
}

/// The inner error is a sentence for the guest.
fn send(store: &mut Store<'_>, params: &[Val]) -> wasmtime::Result<Result<(), String>> {
    let [_, message, _] = params else { return Ok(Err("a message needs a stream and a frame".into())) };
    let notification = match message {
        Val::Variant(case, Some(value)) if case == "notification" => (**value).clone(),
        _ => {
            return Ok(Err(
                "this host sends notifications only: it has answers of its own, and no requests of components".into(),
            ));
        }
    };
    let (case, value) = full_case(notification)?;
    match case.as_str() {
        "log" => log(store, value).map(Ok),
        "progress" => progress(store, value).map(Ok),
        _ => Ok(Err(format!("this host does not send `{case}` for components"))),
    }
}

fn log(store: &mut Store<'_>, value: Val) -> wasmtime::Result<()> {
    let mut record = Fields::read(value)?;
    let level = level(&record.take("level", enumerated)?);
    let logger = record.option("logger", text)?;
    let data = record.take("data", text)?;
    // Texts are shown without the quotes of JSON; some components send text that is no JSON at all.
    let said = serde_json::from_str::<String>(&data).unwrap_or(data);
    let message = logger.map_or_else(|| said.clone(), |logger| format!("{logger}: {said}"));
    let guest = store.data_mut();
    if guest.log.write(level, &message) {
        // A component may log while it is made; the message then goes to the host's log only.
        let _ = guest.imports().map(|imports| imports.link.sink.log(level, &message));
    }
    Ok(())
}

fn progress(store: &mut Store<'_>, value: Val) -> wasmtime::Result<()> {
    let mut record = Fields::read(value)?;
    let report = ProgressReport {
        done: record.take("progress", float)?,
        total: record.option("total", float)?,
        message: record.option("message", text)?,
    };
    let imports = store.data_mut().imports()?;
    imports.progress.report(report, imports.journal.is_replaying());
    Ok(())
}

fn level(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "notice" => LogLevel::Notice,
        "warning" => LogLevel::Warning,
        "error" => LogLevel::Error,
        "critical" => LogLevel::Critical,
        "alert" => LogLevel::Alert,
        "emergency" => LogLevel::Emergency,
        _ => LogLevel::Info,
    }
}
