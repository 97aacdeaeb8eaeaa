//! Writes the values of a function as JSON text, which is no longer than a call's output may be.

use super::types::{MAX_EXACT, Ty};
use data_encoding::BASE64;
use serde::Serialize;
use std::io;
use wasmtime::component::Val;

/// Why a value cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteError {
    /// The text would be longer than the limit.
    TooLong,
    /// The value is not of its type. wasmtime makes sure that this does not happen.
    Mismatch,
}

pub(super) type WriteResult = Result<(), WriteError>;

/// Writes JSON text.
pub(super) struct Writer {
    text: Vec<u8>,
    limit: usize,
    taken: usize,
    values: u64,
}

impl Writer {
    pub(super) fn new(limit: u64) -> Self {
        Self { text: Vec::new(), limit: usize::try_from(limit).unwrap_or(usize::MAX), taken: 0, values: 0 }
    }

    /// The text that was written since this was last called.
    pub(super) fn take(&mut self) -> Result<String, WriteError> {
        self.taken += self.text.len();
        String::from_utf8(std::mem::take(&mut self.text)).map_err(|_| WriteError::Mismatch)
    }

    /// Bytes and values that were written.
    pub(super) fn work(&self) -> u64 {
        self.values.saturating_add((self.taken + self.text.len()) as u64)
    }

    pub(super) fn raw(&mut self, text: &str) -> WriteResult {
        self.check(text.len())?;
        self.text.extend_from_slice(text.as_bytes());
        Ok(())
    }

    pub(super) fn string(&mut self, text: &str) -> WriteResult {
        self.check(text.len())?;
        self.serialize(text)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> WriteResult {
        self.check(BASE64.encode_len(bytes.len()))?;
        self.raw("\"")?;
        self.text.extend(BASE64.encode(bytes).as_bytes());
        self.raw("\"")
    }

    pub(super) fn value(&mut self, ty: &Ty, value: &Val) -> WriteResult {
        self.values += 1;
        match (ty, value) {
            (Ty::Bool, Val::Bool(value)) => self.serialize(value),
            (Ty::Integer(_), value) => self.integer(value),
            (Ty::Float32, Val::Float32(value)) => self.float32(*value),
            (Ty::Float64, Val::Float64(value)) => self.float64(*value),
            (Ty::Char, Val::Char(value)) => self.serialize(value),
            (Ty::String, Val::String(text)) => self.string(text),
            (Ty::Bytes, Val::List(items)) => {
                let byte = |item: &Val| if let Val::U8(byte) = item { Ok(*byte) } else { Err(WriteError::Mismatch) };
                self.values += items.len() as u64 / 16;
                self.bytes(&items.iter().map(byte).collect::<Result<Vec<_>, _>>()?)
            }
            (Ty::List(item), Val::List(items)) => self.list(items.iter().map(|value| (&**item, value))),
            (Ty::Record(types), Val::Record(fields)) => self.record(types, fields),
            (Ty::Tuple(types), Val::Tuple(items)) => self.list(types.iter().zip(items)),
            (Ty::Variant(cases), Val::Variant(tag, payload)) => {
                let case = cases.iter().find(|(name, _)| name == tag).ok_or(WriteError::Mismatch)?;
                self.raw("{\"tag\":")?;
                self.string(tag)?;
                if let (Some(ty), Some(value)) = (&case.1, payload.as_deref())
                    && !matches!(value, Val::Option(None))
                {
                    self.raw(",\"value\":")?;
                    self.value(ty, value)?;
                }
                self.raw("}")
            }
            (Ty::Enum(_), Val::Enum(name)) => self.string(name),
            (Ty::Option(_), Val::Option(None)) => self.raw("null"),
            (Ty::Option(some), Val::Option(Some(value))) if some.is_nullable() => {
                self.raw("{\"some\":")?;
                self.value(some, value)?;
                self.raw("}")
            }
            (Ty::Option(some), Val::Option(Some(value))) => self.value(some, value),
            (Ty::Result(result), Val::Result(value)) => {
                let (key, ty, payload) = match value {
                    Ok(payload) => ("{\"ok\":", &result.ok, payload),
                    Err(payload) => ("{\"err\":", &result.err, payload),
                };
                self.raw(key)?;
                match (ty, payload) {
                    (Some(ty), Some(value)) => self.value(ty, value)?,
                    (None, None) => self.raw("null")?,
                    _ => return Err(WriteError::Mismatch),
                }
                self.raw("}")
            }
            (Ty::Flags(_), Val::Flags(names)) => {
                self.values += names.len() as u64;
                self.serialize(names)
            }
            _ => Err(WriteError::Mismatch),
        }
    }

    fn list<'a>(&mut self, items: impl Iterator<Item = (&'a Ty, &'a Val)>) -> WriteResult {
        self.raw("[")?;
        for (at, (ty, value)) in items.enumerate() {
            if at > 0 {
                self.raw(",")?;
            }
            self.value(ty, value)?;
        }
        self.raw("]")
    }

    /// Options without a value are left out.
    fn record(&mut self, types: &[(String, Ty)], fields: &[(String, Val)]) -> WriteResult {
        self.raw("{")?;
        let mut is_first = true;
        for ((name, ty), (_, value)) in types.iter().zip(fields) {
            if matches!(value, Val::Option(None)) {
                self.values += 1;
                continue;
            }
            if !is_first {
                self.raw(",")?;
            }
            is_first = false;
            self.string(name)?;
            self.raw(":")?;
            self.value(ty, value)?;
        }
        self.raw("}")
    }

    /// Integers that some JSON parsers do not read exactly are written as strings of digits.
    fn integer(&mut self, value: &Val) -> WriteResult {
        let integer: i128 = match value {
            Val::S8(value) => (*value).into(),
            Val::U8(value) => (*value).into(),
            Val::S16(value) => (*value).into(),
            Val::U16(value) => (*value).into(),
            Val::S32(value) => (*value).into(),
            Val::U32(value) => (*value).into(),
            Val::S64(value) => (*value).into(),
            Val::U64(value) => (*value).into(),
            _ => return Err(WriteError::Mismatch),
        };
        match integer.abs() > MAX_EXACT {
            true => self.serialize(&integer.to_string()),
            false => self.serialize(&integer),
        }
    }

    fn float64(&mut self, value: f64) -> WriteResult {
        match odd_float(value) {
            Some(name) => self.serialize(name),
            None => self.serialize(&value),
        }
    }

    /// Writes the shortest digits that mean this number.
    fn float32(&mut self, value: f32) -> WriteResult {
        let wide = f64::from(value);
        match odd_float(wide) {
            Some(name) => self.serialize(name),
            None => self.serialize(&value),
        }
    }

    fn serialize(&mut self, value: &(impl Serialize + ?Sized)) -> WriteResult {
        let wrong = |error: serde_json::Error| if error.is_io() { WriteError::TooLong } else { WriteError::Mismatch };
        serde_json::to_writer(self, value).map_err(wrong)
    }

    fn check(&self, more: usize) -> WriteResult {
        if self.text.len().saturating_add(more) > self.limit { Err(WriteError::TooLong) } else { Ok(()) }
    }
}

/// Fails before a text is longer than the limit: escaping can make it six times as long.
impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of a float that no JSON number can be.
fn odd_float(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}
