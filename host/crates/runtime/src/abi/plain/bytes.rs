//! Functions whose parameters and results are only strings and bytes, with bytes among them. Bytes are passed as a whole: in a
//! list of values, each byte would take forty.

use super::types::Ty;
use wasmtime::AsContextMut;
use wasmtime::component::{ComponentNamedList, Func, Lower};

/// The parameters and the result of such a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) params: Vec<BytesParameter>,
    returns: Returns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BytesParameter {
    Text,
    Bytes,
}

/// What the function returns: a value, or a `result` whose error is a string.
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
pub(super) enum BytesValue {
    Text(String),
    Bytes(Vec<u8>),
}

/// The result of such a function: nothing, a value, or the text of an error.
pub(super) type Returned = Result<Option<BytesValue>, String>;

/// Functions with more parameters are called like all others, since each further parameter doubles the code.
const MAX_PARAMS: usize = 2;

impl Shape {
    pub(super) fn find(params: &[(String, Ty)], ok: Option<&Ty>, err: Option<&Option<Ty>>) -> Option<Self> {
        let slot = |ty: &Ty| match ty {
            Ty::String => Some(BytesParameter::Text),
            Ty::Bytes => Some(BytesParameter::Bytes),
            _ => None,
        };
        let params: Vec<BytesParameter> = params.iter().map(|(_, ty)| slot(ty)).collect::<Option<_>>()?;
        let ok = match ok {
            Some(ty) => Some(slot(ty)?),
            None => None,
        };
        let has_bytes = params.contains(&BytesParameter::Bytes) || ok == Some(BytesParameter::Bytes);
        if params.len() > MAX_PARAMS || !has_bytes {
            return None;
        }
        let returns = match (ok, err) {
            (None, None) => Returns::Nothing,
            (Some(BytesParameter::Text), None) => Returns::Text,
            (Some(BytesParameter::Bytes), None) => Returns::Bytes,
            (None, Some(Some(Ty::String))) => Returns::NothingOrError,
            (Some(BytesParameter::Text), Some(Some(Ty::String))) => Returns::TextOrError,
            (Some(BytesParameter::Bytes), Some(Some(Ty::String))) => Returns::BytesOrError,
            (_, Some(_)) => return None,
        };
        Some(Self { params, returns })
    }

    /// Calls the function. The arguments are of the kinds that `params` says.
    pub(super) async fn call(
        &self,
        function: Func,
        store: impl AsContextMut<Data: Send>,
        arguments: Vec<BytesValue>,
    ) -> wasmtime::Result<Returned> {
        let returns = self.returns;
        let mut arguments = arguments.into_iter();
        match (arguments.next(), arguments.next()) {
            (None, _) => call(function, store, (), returns).await,
            (Some(BytesValue::Text(a)), None) => call(function, store, (a,), returns).await,
            (Some(BytesValue::Bytes(a)), None) => call(function, store, (a,), returns).await,
            (Some(BytesValue::Text(a)), Some(BytesValue::Text(b))) => call(function, store, (a, b), returns).await,
            (Some(BytesValue::Text(a)), Some(BytesValue::Bytes(b))) => call(function, store, (a, b), returns).await,
            (Some(BytesValue::Bytes(a)), Some(BytesValue::Text(b))) => call(function, store, (a, b), returns).await,
            (Some(BytesValue::Bytes(a)), Some(BytesValue::Bytes(b))) => call(function, store, (a, b), returns).await,
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
            Ok(Some(BytesValue::Text(text)))
        }
        Returns::Bytes => {
            let (bytes,) = function.typed::<P, (Vec<u8>,)>(&store)?.call_async(&mut store, arguments).await?;
            Ok(Some(BytesValue::Bytes(bytes)))
        }
        Returns::NothingOrError => {
            type Done = (Result<(), String>,);
            function.typed::<P, Done>(&store)?.call_async(&mut store, arguments).await?.0.map(|()| None)
        }
        Returns::TextOrError => {
            type Text = (Result<String, String>,);
            let (text,) = function.typed::<P, Text>(&store)?.call_async(&mut store, arguments).await?;
            text.map(|text| Some(BytesValue::Text(text)))
        }
        Returns::BytesOrError => {
            type Bytes = (Result<Vec<u8>, String>,);
            let (bytes,) = function.typed::<P, Bytes>(&store)?.call_async(&mut store, arguments).await?;
            bytes.map(|bytes| Some(BytesValue::Bytes(bytes)))
        }
    })
}
