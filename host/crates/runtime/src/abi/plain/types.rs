//! The types of values that can be written as JSON, read from a component within bounds.

use super::bounds::TypeBounds;
use wasmtime::component::Type;

/// A type of WIT. The names of types are not in a component's code, so types with the same structure are equal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ty {
    Bool,
    Integer(Integer),
    Float32,
    Float64,
    Char,
    String,
    /// `list<u8>`.
    Bytes,
    List(Box<Ty>),
    Record(Vec<(String, Ty)>),
    Tuple(Vec<Ty>),
    Variant(Vec<(String, Option<Ty>)>),
    Enum(Vec<String>),
    Option(Box<Ty>),
    Result(Box<ResultTy>),
    Flags(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResultTy {
    pub(super) ok: Option<Ty>,
    pub(super) err: Option<Ty>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integer {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

/// The largest integer that every JSON parser reads exactly. Larger ones are written as strings of digits.
pub(super) const MAX_EXACT: i128 = (1 << 53) - 1;

impl Integer {
    /// The least and the greatest value.
    pub(super) fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// Whether some of its values are not exact in every JSON parser.
    pub(super) fn is_wide(self) -> bool {
        self.range().1 > MAX_EXACT
    }
}

impl Ty {
    /// Reads a type of a component. The error is the end of a sentence about the function.
    pub(super) fn read(ty: &Type, depth: usize, bounds: &mut TypeBounds) -> Result<Self, String> {
        bounds.take(depth)?;
        let below = depth + 1;
        Ok(match ty {
            Type::Bool => Self::Bool,
            Type::S8 => Self::Integer(Integer::S8),
            Type::U8 => Self::Integer(Integer::U8),
            Type::S16 => Self::Integer(Integer::S16),
            Type::U16 => Self::Integer(Integer::U16),
            Type::S32 => Self::Integer(Integer::S32),
            Type::U32 => Self::Integer(Integer::U32),
            Type::S64 => Self::Integer(Integer::S64),
            Type::U64 => Self::Integer(Integer::U64),
            Type::Float32 => Self::Float32,
            Type::Float64 => Self::Float64,
            Type::Char => Self::Char,
            Type::String => Self::String,
            Type::List(list) => match list.ty() {
                Type::U8 => Self::Bytes,
                item => Self::List(Box::new(Self::read(&item, below, bounds)?)),
            },
            Type::Record(record) => {
                let mut fields = Vec::new();
                for field in record.fields() {
                    bounds.take_name(field.name)?;
                    fields.push((field.name.to_owned(), Self::read(&field.ty, below, bounds)?));
                }
                Self::Record(fields)
            }
            Type::Tuple(tuple) => {
                Self::Tuple(tuple.types().map(|item| Self::read(&item, below, bounds)).collect::<Result<_, _>>()?)
            }
            Type::Variant(variant) => {
                let mut cases = Vec::new();
                for case in variant.cases() {
                    bounds.take_name(case.name)?;
                    cases.push((case.name.to_owned(), Self::read_payload(case.ty, below, bounds)?));
                }
                Self::Variant(cases)
            }
            Type::Enum(names) => Self::Enum(read_names(names.names(), bounds)?),
            Type::Option(some) => Self::Option(Box::new(Self::read(&some.ty(), below, bounds)?)),
            Type::Result(result) => {
                let ok = Self::read_payload(result.ok(), below, bounds)?;
                let err = Self::read_payload(result.err(), below, bounds)?;
                Self::Result(Box::new(ResultTy { ok, err }))
            }
            Type::Flags(names) => Self::Flags(read_names(names.names(), bounds)?),
            Type::Own(_) | Type::Borrow(_) => return unusable("a resource, which would be gone with the call"),
            Type::Future(_) => return unusable("a future"),
            Type::Stream(_) => return unusable("a stream"),
            Type::ErrorContext => return unusable("an error context"),
            Type::Map(_) => return unusable("a map"),
            Type::FixedLengthList(_) => return unusable("a list of fixed length"),
        })
    }

    fn read_payload(ty: Option<Type>, depth: usize, bounds: &mut TypeBounds) -> Result<Option<Self>, String> {
        ty.map(|ty| Self::read(&ty, depth, bounds)).transpose()
    }

    /// Whether `null` is one of its values, so that an option of it needs an object around what it has.
    pub(super) fn is_nullable(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

fn read_names<'a>(names: impl Iterator<Item = &'a str>, bounds: &mut TypeBounds) -> Result<Vec<String>, String> {
    let read = |name: &str| bounds.take_name(name).map(|()| name.to_owned());
    names.map(read).collect()
}

fn unusable(what: &str) -> Result<Ty, String> {
    Err(format!("has {what}"))
}
