//! Takes values of foreign dialects apart by the names of their parts: a later version of a dialect may have more of them.
//! Errors contain no names from the guest, which could be very long.

use crate::engine::CallError;
use wasmtime::Error;
use wasmtime::component::Val;
use wasmtime::component::types::Type;

type Result<T> = wasmtime::Result<T>;

/// The fields of a record that were not taken yet.
#[derive(Default)]
pub(super) struct RecordFields(Vec<(String, Val)>);

impl RecordFields {
    pub(super) fn read(value: Val) -> Result<Self> {
        match value {
            Val::Record(fields) => Ok(Self(fields)),
            _ => Err(mismatch("a record")),
        }
    }

    pub(super) fn take<T>(&mut self, name: &str, read: impl FnOnce(Val) -> Result<T>) -> Result<T> {
        let at = self.0.iter().position(|(field, _)| field == name);
        let at = at.ok_or_else(|| mismatch(&format!("the field `{name}`")))?;
        read(self.0.swap_remove(at).1)
    }

    /// None if there is no such field, or nothing in it.
    pub(super) fn option<T>(&mut self, name: &str, read: impl FnOnce(Val) -> Result<T>) -> Result<Option<T>> {
        match self.0.iter().position(|(field, _)| field == name) {
            None => Ok(None),
            Some(at) => option(self.0.swap_remove(at).1)?.map(read).transpose(),
        }
    }

    /// The fields of an optional record; no fields if the record is not there.
    pub(super) fn options(&mut self, name: &str) -> Result<Self> {
        Ok(self.option(name, Self::read)?.unwrap_or_default())
    }
}

pub(super) fn option(value: Val) -> Result<Option<Val>> {
    match value {
        Val::Option(value) => Ok(value.map(|value| *value)),
        _ => Err(mismatch("an option")),
    }
}

pub(super) fn text(value: Val) -> Result<String> {
    match value {
        Val::String(text) => Ok(text),
        _ => Err(mismatch("a string")),
    }
}

pub(super) fn boolean(value: Val) -> Result<bool> {
    match value {
        Val::Bool(value) => Ok(value),
        _ => Err(mismatch("a bool")),
    }
}

pub(super) fn unsigned(value: Val) -> Result<u64> {
    match value {
        Val::U64(value) => Ok(value),
        _ => Err(mismatch("a u64")),
    }
}

pub(super) fn unsigned_32(value: Val) -> Result<u32> {
    match value {
        Val::U32(value) => Ok(value),
        _ => Err(mismatch("a u32")),
    }
}

pub(super) fn signed(value: Val) -> Result<i64> {
    match value {
        Val::S64(value) => Ok(value),
        _ => Err(mismatch("an s64")),
    }
}

pub(super) fn float(value: Val) -> Result<f64> {
    match value {
        Val::Float64(value) => Ok(value),
        _ => Err(mismatch("an f64")),
    }
}

pub(super) fn single_float(value: Val) -> Result<f64> {
    match value {
        Val::Float32(value) => Ok(value.into()),
        _ => Err(mismatch("an f32")),
    }
}

pub(super) fn bytes(value: Val) -> Result<Vec<u8>> {
    list(value, |byte| match byte {
        Val::U8(byte) => Ok(byte),
        _ => Err(mismatch("a u8")),
    })
}

pub(super) fn list<T>(value: Val, read: impl FnMut(Val) -> Result<T>) -> Result<Vec<T>> {
    match value {
        Val::List(items) => items.into_iter().map(read).collect(),
        _ => Err(mismatch("a list")),
    }
}

pub(super) fn string_list(value: Val) -> Result<Vec<String>> {
    list(value, text)
}

/// The two parts of a tuple.
pub(super) fn pair(value: Val) -> Result<(Val, Val)> {
    let Val::Tuple(parts) = value else { return Err(mismatch("a tuple")) };
    let [first, second] = <[Val; 2]>::try_from(parts).map_err(|_| mismatch("a tuple of two"))?;
    Ok((first, second))
}

pub(super) fn enumerated(value: Val) -> Result<String> {
    match value {
        Val::Enum(name) => Ok(name),
        _ => Err(mismatch("an enum")),
    }
}

/// The case of a variant, and what it carries.
pub(super) fn case(value: Val) -> Result<(String, Option<Val>)> {
    match value {
        Val::Variant(name, value) => Ok((name, value.map(|value| *value))),
        _ => Err(mismatch("a variant")),
    }
}

/// The same, for a case that carries something.
pub(super) fn full_case(value: Val) -> Result<(String, Val)> {
    match case(value)? {
        (name, Some(value)) => Ok((name, value)),
        (_, None) => Err(mismatch("a case with a value")),
    }
}

pub(super) fn result(value: Val) -> Result<std::result::Result<Val, Val>> {
    match value {
        Val::Result(Ok(Some(value))) => Ok(Ok(*value)),
        Val::Result(Err(Some(value))) => Ok(Err(*value)),
        _ => Err(mismatch("a result with values")),
    }
}

pub(super) fn mismatch(wanted: &str) -> Error {
    CallError::InvalidOutput { reason: format!("a value is not what its dialect has: {wanted} is missing") }.into()
}

pub(super) fn some(value: Val) -> Val {
    Val::Option(Some(Box::new(value)))
}

pub(super) fn none() -> Val {
    Val::Option(None)
}

pub(super) fn string(text: impl Into<String>) -> Val {
    Val::String(text.into())
}

pub(super) fn record(fields: Vec<(&str, Val)>) -> Val {
    Val::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Types in all functions that a component shares with the host. A few bytes of a file can stand for any number of types:
/// thirty records, each of which has the one before it twice, make a billion.
const MAX_TYPES: usize = 50_000;
/// Nesting of one type. Bounds recursion here and in what reads its values.
const MAX_DEPTH: usize = 64;

/// Limits the types in the functions of a dialect, which are not known beforehand. One check is used for all functions of a
/// component.
pub(super) struct TypeCheck {
    left: usize,
}

impl TypeCheck {
    pub(super) fn new() -> Self {
        Self { left: MAX_TYPES }
    }

    /// The error is the end of a sentence about the function.
    pub(super) fn check(&mut self, ty: &Type) -> std::result::Result<(), String> {
        self.walk(ty, false, 1)
    }

    /// Flags in lists take much more memory than the engine counts: four bytes of a guest can be flags with 32 names, which
    /// take two kilobytes. No dialect has flags in a list.
    fn walk(&mut self, ty: &Type, in_list: bool, depth: usize) -> std::result::Result<(), String> {
        let spent = || format!("has more than {MAX_TYPES} types in its own");
        self.left = self.left.checked_sub(1).ok_or_else(spent)?;
        if depth > MAX_DEPTH {
            return Err(format!("nests types more than {MAX_DEPTH} deep"));
        }
        let mut below = |ty: &Type| self.walk(ty, in_list, depth + 1);
        match ty {
            Type::Flags(_) if in_list => Err("has flags in a list".into()),
            Type::List(ty) => self.walk(&ty.ty(), true, depth + 1),
            Type::Option(ty) => below(&ty.ty()),
            Type::Record(ty) => ty.fields().try_for_each(|field| below(&field.ty)),
            Type::Tuple(ty) => ty.types().try_for_each(|ty| below(&ty)),
            Type::Variant(ty) => ty.cases().filter_map(|case| case.ty).try_for_each(|ty| below(&ty)),
            Type::Result(ty) => [ty.ok(), ty.err()].into_iter().flatten().try_for_each(|ty| below(&ty)),
            Type::Map(_) | Type::FixedLengthList(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
                Err("has a map, a list of fixed length, a future, a stream or an error context".into())
            }
            Type::Bool
            | Type::S8
            | Type::U8
            | Type::S16
            | Type::U16
            | Type::S32
            | Type::U32
            | Type::S64
            | Type::U64
            | Type::Float32
            | Type::Float64
            | Type::Char
            | Type::String
            | Type::Enum(_)
            | Type::Flags(_)
            | Type::Own(_)
            | Type::Borrow(_) => Ok(()),
        }
    }
}
