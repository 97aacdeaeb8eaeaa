//! `sessions`: what a component keeps between calls, in the state of its plugin. What it
//! asks the user is in `questions`.

use super::super::guest::Guest;
use super::super::store::{Store, charge_with_bytes};
use super::packages::{PACKAGES, VERSION};
use super::questions;
use super::session_types::{TypedValue, WasmcpSessionError};
use crate::imports as h;
use crate::imports::{LogLevel, price};
use wasmtime::component::{Component, Linker, Resource, ResourceType};
use wasmtime_wasi::WasiView as _;

/// The name of the store of all sessions: a component gets it with an id, and gives both back.
pub(super) const STORE: &str = "state";

/// An open session.
#[derive(Default)]
struct Session {
    has_ended: bool,
}

type Answer<T> = Result<T, WasmcpSessionError>;

/// Whether the component needs a session.
pub(super) fn are_imported(component: &Component) -> bool {
    let ty = component.component_type();
    let mut names = ty.imports(component.engine()).map(|(name, _)| name);
    names.any(|name| PACKAGES.iter().any(|package| name.starts_with(&format!("{package}/sessions@"))))
}

pub(super) fn add_to_linker(linker: &mut Linker<Guest>, package: &str) -> wasmtime::Result<()> {
    let mut sessions = linker.instance(&format!("{package}/sessions@{VERSION}"))?;
    sessions.resource("session", ResourceType::host::<Session>(), |mut store, rep| {
        store.data_mut().ctx().table.delete(Resource::<Session>::new_own(rep))?;
        Ok(())
    })?;
    sessions.func_wrap_async("[static]session.open", |mut store: Store<'_>, (id, of): (String, String)| {
        Box::new(async move {
            charge_with_bytes(&mut store, price::CALL, (id.len() + of.len()) as u64)?;
            Ok((open(&mut store, &id, &of)?,))
        })
    })?;
    sessions.func_wrap_async("[method]session.id", |mut store: Store<'_>, (_,): (Resource<Session>,)| {
        Box::new(async move {
            charge_with_bytes(&mut store, price::CALL, 0)?;
            Ok((store.data_mut().imports()?.session().id(),))
        })
    })?;
    sessions.func_wrap_async(
        "[method]session.get",
        |store: Store<'_>, (session, key): (Resource<Session>, String)| {
            Box::new(async move { Ok((get(store, session, key).await?,)) })
        },
    )?;
    sessions.func_wrap_async(
        "[method]session.set",
        |store: Store<'_>, (session, key, value): (Resource<Session>, String, TypedValue)| {
            Box::new(async move { Ok((set(store, session, key, value).await?,)) })
        },
    )?;
    sessions.func_wrap_async(
        "[method]session.terminate",
        |store: Store<'_>, (session, reason): (Resource<Session>, Option<String>)| {
            Box::new(async move { Ok((terminate(store, session, reason).await?,)) })
        },
    )?;
    questions::add_to_linker(&mut sessions)
}

fn open(store: &mut Store<'_>, id: &str, of: &str) -> wasmtime::Result<Answer<Resource<Session>>> {
    let session = store.data_mut().imports()?.session();
    if let Err(error) = session.open(id) {
        return Ok(Err(error.into()));
    }
    if of != STORE {
        return Ok(Err(WasmcpSessionError::Store(format!(
            "there is no store of this name: the only one is `{STORE}`"
        ))));
    }
    Ok(Ok(store.data_mut().ctx().table.push(Session::default())?))
}

async fn get(
    mut store: Store<'_>,
    session: Resource<Session>,
    key: String,
) -> wasmtime::Result<Answer<Option<TypedValue>>> {
    charge_with_bytes(&mut store, price::CALL, key.len() as u64)?;
    if has_ended(&mut store, &session)? {
        return Ok(Err(WasmcpSessionError::NoSuchSession));
    }
    let imports = store.data_mut().imports()?;
    let span = imports.start_span("session.get", key.len());
    let size = |kept: &Option<Vec<u8>>| kept.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let kept = span.finish_with(imports.session().get(&key).await, size);
    charge_with_bytes(&mut store, 0, kept.as_ref().map_or(0, size))?;
    let damaged = || WasmcpSessionError::Store("what is stored there is no value of a session".into());
    let read = |bytes| TypedValue::read(bytes).ok_or_else(damaged);
    Ok(kept.map_err(WasmcpSessionError::from).and_then(|kept| kept.map(read).transpose()))
}

async fn set(
    mut store: Store<'_>,
    session: Resource<Session>,
    key: String,
    value: TypedValue,
) -> wasmtime::Result<Answer<()>> {
    let value = value.write();
    charge_with_bytes(&mut store, price::KEEP, (key.len() + value.len()) as u64)?;
    if has_ended(&mut store, &session)? {
        return Ok(Err(WasmcpSessionError::NoSuchSession));
    }
    let imports = store.data_mut().imports()?;
    let span = imports.start_span("session.set", key.len() + value.len());
    Ok(span.finish_with(imports.session().set(&key, value).await, |()| 0).map_err(WasmcpSessionError::from))
}

/// Empties the session. When it is opened again, it is new.
async fn terminate(
    mut store: Store<'_>,
    session: Resource<Session>,
    reason: Option<String>,
) -> wasmtime::Result<Answer<()>> {
    charge_with_bytes(&mut store, price::KEEP, reason.as_ref().map_or(0, String::len) as u64)?;
    if has_ended(&mut store, &session)? {
        return Ok(Ok(()));
    }
    if let Some(reason) = reason {
        store.data_mut().log.write(LogLevel::Info, &format!("its session ends: {reason}"));
    }
    let imports = store.data_mut().imports()?;
    let span = imports.start_span("session.terminate", 0);
    let cleared = span.finish_with(imports.session().clear().await, |_| 0);
    if let Ok(count) = &cleared {
        charge_with_bytes(&mut store, price::KEEP.saturating_mul(*count), 0)?;
        store.data_mut().ctx().table.get_mut(&session)?.has_ended = true;
    }
    Ok(cleared.map(drop).map_err(WasmcpSessionError::from))
}

fn has_ended(store: &mut Store<'_>, session: &Resource<Session>) -> wasmtime::Result<bool> {
    Ok(store.data_mut().ctx().table.get(session)?.has_ended)
}

impl From<h::SessionError> for WasmcpSessionError {
    fn from(error: h::SessionError) -> Self {
        match error {
            h::SessionError::NoSuchSession => Self::NoSuchSession,
            h::SessionError::State(error) => error.into(),
        }
    }
}

impl From<h::StateError> for WasmcpSessionError {
    fn from(error: h::StateError) -> Self {
        Self::Store(match error {
            h::StateError::Denied(denial) => {
                format!("`{}` is not allowed to this plugin. {}", denial.capability, denial.remedy)
            }
            h::StateError::Exhausted(quota) => {
                format!("the plugin's state is full: {} is what it may have", quota.limit)
            }
            h::StateError::Conflict => "the value was changed meanwhile".into(),
            h::StateError::Invalid(reason) | h::StateError::Failed(reason) => reason,
        })
    }
}
