//! The import `log`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::log as w;
use super::store::{Store, charge_with_bytes};
use crate::imports as h;
use crate::imports::price;
use wasmtime::component::Linker;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut log = linker.instance("portcullis:plugin/log@0.1.0")?;
    log.func_wrap("write", |mut store: Store<'_>, (level, message): (w::Level, String)| {
        charge_with_bytes(&mut store, price::CALL, message.len() as u64)?;
        let (guest, level) = (store.data_mut(), level_from_guest(level));
        if guest.log.write(level, &message) {
            // A component may log before its call has begun; the message then goes to the host's log only.
            let _ = guest.imports().map(|imports| imports.link.sink.log(level, &message));
        }
        Ok(())
    })
}

fn level_from_guest(level: w::Level) -> h::LogLevel {
    match level {
        w::Level::Debug => h::LogLevel::Debug,
        w::Level::Info => h::LogLevel::Info,
        w::Level::Notice => h::LogLevel::Notice,
        w::Level::Warning => h::LogLevel::Warning,
        w::Level::Error => h::LogLevel::Error,
        w::Level::Critical => h::LogLevel::Critical,
        w::Level::Alert => h::LogLevel::Alert,
        w::Level::Emergency => h::LogLevel::Emergency,
    }
}
