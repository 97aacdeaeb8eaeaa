//! `wasi:config/store`, a draft that components of other hosts use: it has the granted variables, as the environment does.

use super::environment::{Variables, variables};
use super::files::WasiHost;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

/// Drafts are different interfaces, even if nothing in them differs.
const DRAFTS: [&str; 2] = ["wasi:config/store@0.2.0-draft", "wasi:config/store@0.2.0-rc.1"];

/// Why there is no value. A variable is there or not, so there is never a reason.
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
