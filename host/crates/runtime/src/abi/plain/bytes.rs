//! Functions whose parameters and results are strings and bytes, and bytes are among them: they are passed at once. As a
//! list of values, each byte would take forty.

use super::types::Ty;
use wasmtime::AsContextMut;
use wasmtime::component::{ComponentNamedList, Func, Lower};

/// The parameters and the result of such a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) params: Vec<Slot>,
    returns: Returns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Text,
    Bytes,
}

/// The result, or what a `result` with an error of type string has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Returns {
    Nothing,
    Text,
    Bytes,
    NothingOrError,
    TextOrError,
    BytesOrError,
}

/// A value of such a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chunk {
    Text(String),
    Bytes(Vec<u8>),
}

/// The result of such a function: nothing, a value, or the text of an error.
pub(super) type Returned = Result<Option<Chunk>, String>;

/// More parameters than this go the way of all others, since each number of them doubles the code.
const MAX_PARAMS: usize = 2;

impl Shape {
    pub(super) fn find(params: &[(String, Ty)], ok: Option<&Ty>, err: Option<&Option<Ty>>) -> Option<Self> {
        let slot = |ty: &Ty| match ty {
            Ty::String => Some(Slot::Text),
            Ty::Bytes => Some(Slot::Bytes),
            _ => None,
        };
        let params: Vec<Slot> = params.iter().map(|(_, ty)| slot(ty)).collect::<Option<_>>()?;
        let ok = match ok {
            Some(ty) => Some(slot(ty)?),
            None => None,
        };
        let has_bytes = params.contains(&Slot::Bytes) || ok == Some(Slot::Bytes);
        if params.len() > MAX_PARAMS || !has_bytes {
            return None;
        }
        let returns = match (ok, err) {
            (None, None) => Returns::Nothing,
            (Some(Slot::Text), None) => Returns::Text,
            (Some(Slot::Bytes), None) => Returns::Bytes,
            (None, Some(Some(Ty::String))) => Returns::NothingOrError,
            (Some(Slot::Text), Some(Some(Ty::String))) => Returns::TextOrError,
            (Some(Slot::Bytes), Some(Some(Ty::String))) => Returns::BytesOrError,
            (_, Some(_)) => return None,
        };
        Some(Self { params, returns })
    }

    /// Calls the function. The arguments are of the kinds that `params` says.
    pub(super) async fn call(
        &self,
        function: Func,
        store: impl AsContextMut<Data: Send>,
        arguments: Vec<Chunk>,
    ) -> wasmtime::Result<Returned> {
        let returns = self.returns;
        let mut arguments = arguments.into_iter();
        match (arguments.next(), arguments.next()) {
            (None, _) => call(function, store, (), returns).await,
            (Some(Chunk::Text(a)), None) => call(function, store, (a,), returns).await,
            (Some(Chunk::Bytes(a)), None) => call(function, store, (a,), returns).await,
            (Some(Chunk::Text(a)), Some(Chunk::Text(b))) => call(function, store, (a, b), returns).await,
            (Some(Chunk::Text(a)), Some(Chunk::Bytes(b))) => call(function, store, (a, b), returns).await,
            (Some(Chunk::Bytes(a)), Some(Chunk::Text(b))) => call(function, store, (a, b), returns).await,
            (Some(Chunk::Bytes(a)), Some(Chunk::Bytes(b))) => call(function, store, (a, b), returns).await,
        }
    }
}

/// wasmtime checks the types again, and fails if they are others.
async fn call<P>(
    function: Func,
    mut store: impl AsContextMut<Data: Send>,
    arguments: P,
    returns: Returns,
) -> wasmtime::Result<Returned>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
{
    Ok(match returns {
        Returns::Nothing => {
            function.typed::<P, ()>(&store)?.call_async(&mut store, arguments).await?;
            Ok(None)
        }
        Returns::Text => {
            let (text,) = function.typed::<P, (String,)>(&store)?.call_async(&mut store, arguments).await?;
            Ok(Some(Chunk::Text(text)))
        }
        Returns::Bytes => {
            let (bytes,) = function.typed::<P, (Vec<u8>,)>(&store)?.call_async(&mut store, arguments).await?;
            Ok(Some(Chunk::Bytes(bytes)))
        }
        Returns::NothingOrError => {
            type Done = (Result<(), String>,);
            function.typed::<P, Done>(&store)?.call_async(&mut store, arguments).await?.0.map(|()| None)
        }
        Returns::TextOrError => {
            type Text = (Result<String, String>,);
            let (text,) = function.typed::<P, Text>(&store)?.call_async(&mut store, arguments).await?;
            text.map(|text| Some(Chunk::Text(text)))
        }
        Returns::BytesOrError => {
            type Bytes = (Result<Vec<u8>, String>,);
            let (bytes,) = function.typed::<P, Bytes>(&store)?.call_async(&mut store, arguments).await?;
            bytes.map(|bytes| Some(Chunk::Bytes(bytes)))
        }
    })
}
