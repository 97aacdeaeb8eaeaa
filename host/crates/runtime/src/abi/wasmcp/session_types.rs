//! The types of `sessions`, which are those of both dialects, and how values are stored.

use wasmtime::component::{ComponentType, Lift, Lower, Resource};

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum WasmcpSessionError {
    #[component(name = "io")]
    #[allow(dead_code, reason = "the host has no streams in a session")]
    Io(StreamError),
    #[component(name = "store")]
    Store(String),
    #[component(name = "no-such-session")]
    NoSuchSession,
    #[component(name = "unexpected")]
    #[allow(dead_code, reason = "every error of the host has a kind")]
    Unexpected(String),
}

/// The error of `wasi:io/streams`.
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<wasmtime::Error>),
    #[component(name = "closed")]
    Closed,
}

/// The value of `wasmcp:keyvalue/store`.
#[derive(Debug, PartialEq, ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum TypedValue {
    #[component(name = "as-string")]
    String(String),
    #[component(name = "as-json")]
    Json(String),
    #[component(name = "as-u64")]
    U64(u64),
    #[component(name = "as-s64")]
    S64(i64),
    #[component(name = "as-bool")]
    Bool(bool),
    #[component(name = "as-bytes")]
    Bytes(Vec<u8>),
}

/// The first byte of a stored value tells its type.
const STRING: u8 = 1;
const JSON: u8 = 2;
const U64: u8 = 3;
const S64: u8 = 4;
const BOOL: u8 = 5;
const BYTES: u8 = 6;

impl TypedValue {
    pub(super) fn write(self) -> Vec<u8> {
        let (kind, mut value) = match self {
            Self::String(text) => (STRING, text.into_bytes()),
            Self::Json(text) => (JSON, text.into_bytes()),
            Self::U64(number) => (U64, number.to_be_bytes().into()),
            Self::S64(number) => (S64, number.to_be_bytes().into()),
            Self::Bool(value) => (BOOL, vec![value.into()]),
            Self::Bytes(bytes) => (BYTES, bytes),
        };
        value.insert(0, kind);
        value
    }

    /// None if [`Self::write`] has not written this.
    pub(super) fn read(mut stored: Vec<u8>) -> Option<Self> {
        let kind = *stored.first()?;
        let value = stored.split_off(1);
        Some(match kind {
            STRING => Self::String(String::from_utf8(value).ok()?),
            JSON => Self::Json(String::from_utf8(value).ok()?),
            U64 => Self::U64(u64::from_be_bytes(value.try_into().ok()?)),
            S64 => Self::S64(i64::from_be_bytes(value.try_into().ok()?)),
            BOOL => Self::Bool(value == [1]),
            BYTES => Self::Bytes(value),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let values = || {
            [
                TypedValue::String("é".into()),
                TypedValue::Json("{}".into()),
                TypedValue::U64(u64::MAX),
                TypedValue::S64(i64::MIN),
                TypedValue::Bool(true),
                TypedValue::Bool(false),
                TypedValue::Bytes(vec![0, 255]),
                TypedValue::Bytes(vec![]),
            ]
        };
        for (given, back) in values().into_iter().zip(values().map(|value| TypedValue::read(value.write()))) {
            assert_eq!(back, Some(given));
        }
        for damaged in [&[][..], &[0], &[7, 1], &[STRING, 255], &[U64, 1]] {
            assert_eq!(TypedValue::read(damaged.to_vec()), None, "{damaged:?}");
        }
    }
}
