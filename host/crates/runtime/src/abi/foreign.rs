//! A component of another host's dialect: its exports, whichever dialect they are of.

use super::dialect::Dialect;
use super::guest::Guest;
use super::guest_call::{GuestAnswer, GuestCall};
use super::{act, wasix, wasmcp};
use crate::imports::Offer;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Engine, Store};

pub(super) enum Foreign {
    Wasmcp(Box<wasmcp::WasmcpExports>),
    Act(act::ActExports),
    Wasix(wasix::WasixExports),
}

impl Foreign {
    /// None for a component of no foreign dialect. The error is a sentence.
    pub(super) fn find(
        dialect: Dialect,
        engine: &Engine,
        component: &InstancePre<Guest>,
    ) -> Result<Option<Self>, String> {
        let of = component.component();
        let wasmcp = |package, version| {
            wasmcp::WasmcpExports::find(engine, of, package, version).map(|it| Self::Wasmcp(Box::new(it)))
        };
        Ok(Some(match dialect {
            Dialect::Wasmcp20251125 => wasmcp("wasmcp:mcp-v20251125", "2025-11-25")?,
            Dialect::Wasmcp20250618 => wasmcp("wasmcp:mcp-v20250618", "2025-06-18")?,
            Dialect::ActSync => Self::Act(act::ActExports::find(component)?),
            Dialect::Wasix => Self::Wasix(wasix::WasixExports::find(engine, of)?),
            Dialect::ActAsync => return Err("it is asynchronous, which this host is not".into()),
            Dialect::Portcullis | Dialect::Plain => return Ok(None),
        }))
    }

    pub(super) async fn describe(&self, store: &mut Store<Guest>, instance: &Instance) -> wasmtime::Result<Offer> {
        match self {
            Self::Wasmcp(exports) => exports.describe(store, instance).await,
            Self::Act(exports) => exports.describe(store, instance).await,
            Self::Wasix(exports) => exports.describe(store, instance).await,
        }
    }

    pub(super) async fn call(
        &self,
        call: GuestCall,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<GuestAnswer> {
        match self {
            Self::Wasmcp(exports) => exports.call(call, store, instance).await,
            Self::Act(exports) => exports.call(call, store, instance).await,
            Self::Wasix(exports) => exports.call(call, store, instance).await,
        }
    }
}
