//! Converts JSON to the values of a function. Arguments were checked against the schema; whatever the schema lets through by
//! mistake is still an error here and no panic.

use super::memory::{NAME, VALUE, ValueMemory};
use super::types::{Integer, Ty};
use data_encoding::BASE64;
use serde_json::{Map, Number, Value};
use wasmtime::component::Val;

/// Why a value cannot be converted.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConversionError {
    /// Where in the arguments, from the inside out, and why.
    Invalid { place: Vec<String>, reason: String },
    /// The values would take too much memory.
    TooLarge,
}

pub(super) type Read<T> = Result<T, ConversionError>;

impl ConversionError {
    pub(super) fn at(mut self, part: impl ToString) -> Self {
        if let Self::Invalid { place, .. } = &mut self {
            place.push(part.to_string());
        }
        self
    }
}

fn invalid<T>(reason: impl Into<String>) -> Read<T> {
    Err(ConversionError::Invalid { place: vec![], reason: reason.into() })
}

/// Converts values within a bound of memory.
pub(super) struct Reader<'a> {
    pub(super) memory: &'a mut ValueMemory,
}

impl Reader<'_> {
    /// Reads the parameters of a function, in their order.
    pub(super) fn fields<'t>(
        &mut self,
        fields: impl Iterator<Item = (&'t str, &'t Ty)>,
        mut object: Map<String, Value>,
    ) -> Read<Vec<(&'t str, Val)>> {
        let mut values = Vec::new();
        for (name, ty) in fields {
            let value = match object.swap_remove(name) {
                Some(value) => self.value(ty, value),
                None if ty.is_nullable() => self.value(ty, Value::Null),
                None => invalid("is missing"),
            };
            values.push((name, value.map_err(|error| error.at(name))?));
        }
        match object.keys().next() {
            Some(name) => {
                Err(invalid::<()>("is not one of its members").err().map_or(ConversionError::TooLarge, |e| e.at(name)))
            }
            None => Ok(values),
        }
    }

    pub(super) fn value(&mut self, ty: &Ty, value: Value) -> Read<Val> {
        self.take(VALUE)?;
        match (ty, value) {
            (Ty::Bool, Value::Bool(value)) => Ok(Val::Bool(value)),
            (Ty::Bool, _) => invalid("is not a boolean"),
            (Ty::Integer(integer), value) => read_integer(*integer, &value),
            (Ty::Float32, value) => read_float(&value).and_then(|wide| {
                #[allow(clippy::cast_possible_truncation, reason = "the nearest number is meant")]
                let value = wide as f32;
                match value.is_infinite() && wide.is_finite() {
                    true => invalid("does not fit into 32 bits"),
                    false => Ok(Val::Float32(value)),
                }
            }),
            (Ty::Float64, value) => read_float(&value).map(Val::Float64),
            (Ty::Char, Value::String(text)) => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(one), None) => Ok(Val::Char(one)),
                    _ => invalid("is not one character"),
                }
            }
            (Ty::Char, _) => invalid("is not a string"),
            (Ty::String, Value::String(text)) => Ok(Val::String(text)),
            (Ty::String, _) => invalid("is not a string"),
            (Ty::Bytes, Value::String(text)) => {
                let bytes = read_bytes(&text)?;
                self.take(VALUE.saturating_mul(bytes.len() as u64))?;
                Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
            }
            (Ty::Bytes, _) => invalid("is not a string of base64"),
            (Ty::List(item), Value::Array(items)) => {
                let read = |(at, value)| self.value(item, value).map_err(|error| error.at(at));
                Ok(Val::List(items.into_iter().enumerate().map(read).collect::<Read<_>>()?))
            }
            (Ty::List(_), _) => invalid("is not an array"),
            (Ty::Record(types), Value::Object(object)) => {
                let names = types.iter().map(|(name, _)| name.len() as u64 + NAME).sum();
                self.take(names)?;
                let values = self.fields(types.iter().map(|(name, ty)| (name.as_str(), ty)), object)?;
                Ok(Val::Record(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
            }
            (Ty::Record(_), _) => invalid("is not an object"),
            (Ty::Tuple(types), Value::Array(items)) => {
                if types.len() != items.len() {
                    return invalid(format!("has not {} items", types.len()));
                }
                let read = |(at, (ty, value))| self.value(ty, value).map_err(|error| error.at(at));
                Ok(Val::Tuple(types.iter().zip(items).enumerate().map(read).collect::<Read<_>>()?))
            }
            (Ty::Tuple(_), _) => invalid("is not an array"),
            (Ty::Variant(cases), Value::Object(object)) => self.variant(cases, object),
            (Ty::Variant(_), _) => invalid("is not an object"),
            (Ty::Enum(names), Value::String(name)) => match names.contains(&name) {
                true => self.take(NAME).map(|()| Val::Enum(name)),
                false => invalid("is none of the names"),
            },
            (Ty::Enum(_), _) => invalid("is not a string"),
            (Ty::Option(_), Value::Null) => Ok(Val::Option(None)),
            (Ty::Option(some), Value::Object(mut object)) if some.is_nullable() => {
                let inner = object.swap_remove("some").unwrap_or_default();
                match object.is_empty() {
                    true => Ok(Val::Option(Some(Box::new(self.value(some, inner)?)))),
                    false => invalid("has another member than `some`"),
                }
            }
            (Ty::Option(some), _) if some.is_nullable() => invalid("is neither null nor an object with `some`"),
            (Ty::Option(some), value) => Ok(Val::Option(Some(Box::new(self.value(some, value)?)))),
            (Ty::Result(result), Value::Object(mut object)) => {
                let (ok, err) = (object.swap_remove("ok"), object.swap_remove("err"));
                match (ok, err, object.is_empty()) {
                    (Some(ok), None, true) => Ok(Val::Result(Ok(self.payload(result.ok.as_ref(), ok, "ok")?))),
                    (None, Some(err), true) => Ok(Val::Result(Err(self.payload(result.err.as_ref(), err, "err")?))),
                    _ => invalid("has not one member, `ok` or `err`"),
                }
            }
            (Ty::Result(_), _) => invalid("is not an object"),
            (Ty::Flags(names), Value::Array(items)) => self.flags(names, items),
            (Ty::Flags(_), _) => invalid("is not an array"),
        }
    }

    fn variant(&mut self, cases: &[(String, Option<Ty>)], mut object: Map<String, Value>) -> Read<Val> {
        let Some(Value::String(tag)) = object.swap_remove("tag") else { return invalid("has no string `tag`") };
        let Some((_, ty)) = cases.iter().find(|(name, _)| *name == tag) else {
            return invalid("is none of the cases").map_err(|error: ConversionError| error.at("tag"));
        };
        self.take(NAME)?;
        let value = object.swap_remove("value");
        if !object.is_empty() {
            return invalid("has another member than `tag` and `value`");
        }
        let payload = match (ty, value) {
            (None, None) => None,
            (Some(ty), None) if !ty.is_nullable() => return invalid("has no `value`"),
            (ty, value) => self.payload(ty.as_ref(), value.unwrap_or_default(), "value")?,
        };
        Ok(Val::Variant(tag, payload))
    }

    fn payload(&mut self, ty: Option<&Ty>, value: Value, name: &str) -> Read<Option<Box<Val>>> {
        let read = match (ty, value) {
            (None, Value::Null) => return Ok(None),
            (None, _) => invalid("is not null"),
            (Some(ty), value) => self.value(ty, value),
        };
        read.map(|value| Some(Box::new(value))).map_err(|error| error.at(name))
    }

    fn flags(&mut self, names: &[String], items: Vec<Value>) -> Read<Val> {
        let mut is_set = vec![false; names.len()];
        for (at, item) in items.into_iter().enumerate() {
            let found = item.as_str().and_then(|name| names.iter().position(|known| known == name));
            match found {
                Some(flag) => is_set[flag] = true,
                None => return invalid("is none of the flags").map_err(|error: ConversionError| error.at(at)),
            }
        }
        let set = names.iter().zip(is_set).filter(|(_, is_set)| *is_set).map(|(name, _)| name.clone());
        let set: Vec<_> = set.collect();
        self.take(set.iter().map(|name| NAME + VALUE + name.len() as u64).sum())?;
        Ok(Val::Flags(set))
    }

    fn take(&mut self, bytes: u64) -> Read<()> {
        if self.memory.take(bytes) { Ok(()) } else { Err(ConversionError::TooLarge) }
    }
}

/// The bytes of a string of base64.
pub(super) fn read_bytes(text: &str) -> Read<Vec<u8>> {
    let wrong = |error| invalid(format!("is not base64 with padding: {error}"));
    BASE64.decode(text.as_bytes()).or_else(wrong)
}

/// The number, if it is an integer: `1.0` is one, too, in JSON Schema.
fn exact(number: &Number) -> Option<i128> {
    const LIMIT: f64 = (1u64 << 53) as f64;
    let whole = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= LIMIT);
    #[allow(clippy::cast_possible_truncation, reason = "it is a whole number of 53 bits")]
    let from_float = || whole().map(|float| float as i128);
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(from_float)
}

fn read_integer(integer: Integer, value: &Value) -> Read<Val> {
    let found = match value {
        Value::Number(number) => exact(number),
        Value::String(digits) if integer.is_wide() && digits.len() <= 20 => digits.parse().ok(),
        _ => None,
    };
    let Some(found) = found else {
        let or_digits = if integer.is_wide() { ", nor a string of its digits" } else { "" };
        return invalid(format!("is not an integer{or_digits}"));
    };
    let (least, greatest) = integer.range();
    let value = match integer {
        Integer::S8 => i8::try_from(found).map(Val::S8).ok(),
        Integer::U8 => u8::try_from(found).map(Val::U8).ok(),
        Integer::S16 => i16::try_from(found).map(Val::S16).ok(),
        Integer::U16 => u16::try_from(found).map(Val::U16).ok(),
        Integer::S32 => i32::try_from(found).map(Val::S32).ok(),
        Integer::U32 => u32::try_from(found).map(Val::U32).ok(),
        Integer::S64 => i64::try_from(found).map(Val::S64).ok(),
        Integer::U64 => u64::try_from(found).map(Val::U64).ok(),
    };
    value.map_or_else(|| invalid(format!("is not from {least} to {greatest}")), Ok)
}

fn read_float(value: &Value) -> Read<f64> {
    let float = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    float.map_or_else(|| invalid("is not a number"), Ok)
}
