//! `wasi:config/store`, a draft that components of other hosts use: it holds the granted variables, like the environment.

use super::environment::{Variables, variables};
use super::files::WasiHost;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

/// Each draft is an interface of its own, even if nothing in it differs from the others.
const DRAFTS: [&str; 2] = ["wasi:config/store@0.2.0-draft", "wasi:config/store@0.2.0-rc.1"];

/// The error type of the interface. It is never returned, because a variable just exists or does not.
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum ConfigError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

pub(super) fn add_to_linker<T: WasiHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for draft in DRAFTS {
        let mut store = linker.instance(draft)?;
        store.func_wrap("get", |mut store: StoreContextMut<'_, T>, (key,): (String,)| {
            let variables = variables(&mut store)?;
            let value = variables.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value);
            Ok((Ok::<Option<String>, ConfigError>(value),))
        })?;
        store.func_wrap("get-all", |mut store: StoreContextMut<'_, T>, (): ()| {
            Ok((Ok::<Variables, ConfigError>(variables(&mut store)?),))
        })?;
    }
    Ok(())
}
