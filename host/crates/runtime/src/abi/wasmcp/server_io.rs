//! What a component imports of wasmcp: messages to the client become log records and progress. The host itself is the transport
//! and the middleware: functions for these exist, since some toolchains import them all, but do nothing.

use super::super::guest::Guest;
use super::super::plain::json_size;
use super::super::store::{Store, charge_with_bytes};
use super::super::values::{RecordFields, TypeCheck, enumerated, float, full_case, none, string, text};
use super::handles::drop_handles;
use super::packages::{PACKAGES, VERSION};
use super::sessions;
use crate::imports::{LogLevel, ProgressReport, price};
use wasmtime::Engine;
use wasmtime::component::types::{ComponentExtern, ComponentItem};
use wasmtime::component::{Component, Linker, Val};

/// The interfaces that are linked, or that have only types.
const INTERFACES: [&str; 5] = ["mcp", "server-io", "server-handler", "server-auth", "sessions"];
/// Only types of these may be imported.
const TYPES: [&str; 2] = ["wasmcp:auth/types@0.1.", "wasmcp:keyvalue/store@0.1."];

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
        sessions::add_to_linker(linker, package)?;
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
    drop_handles(&mut store, params).await
}

/// Checks the imports of a component before it is linked, and their types, which the linker does not check. The error is a
/// sentence.
pub(in super::super) fn check_imports(engine: &Engine, component: &Component) -> Result<(), String> {
    let mut types = TypeCheck::new();
    for (name, item) in component.component_type().imports(engine) {
        let Some(rest) = name.strip_prefix("wasmcp:") else { continue };
        let of_dialect = PACKAGES.iter().find_map(|package| name.strip_prefix(&format!("{package}/")));
        let is_known = of_dialect
            .and_then(|name| name.split_once("@0.1."))
            .is_some_and(|(interface, _)| INTERFACES.contains(&interface));
        let ComponentItem::ComponentInstance(interface) = item.ty else { continue };
        let is_type = |item: ComponentExtern<'_>| matches!(item.ty, ComponentItem::Type(_));
        let has_only_types = || interface.exports(engine).all(|(_, item)| is_type(item));
        let has_known_types = || TYPES.iter().any(|types| name.starts_with(types)) && has_only_types();
        if !is_known && !has_known_types() {
            return Err(format!("`{name}`, of wasmcp: {}", advice(rest)));
        }
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

/// What an author can do about an import that is not there.
fn advice(name: &str) -> &'static str {
    if name.contains("/session-manager") {
        "sessions are managed by the host, which is the transport. Give the component itself, not composed"
    } else if name.starts_with("keyvalue/") {
        "its stores are not there, only its types. What outlives a call is kept by `sessions`"
    } else {
        "build the component without it, or compose it with one that exports it"
    }
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
    let mut record = RecordFields::read(value)?;
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
    let mut record = RecordFields::read(value)?;
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
