//! Types of a form's fields.

use serde_json::{Map, Value, json};

/// Types that can be a field of a form.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form",
    label = "not a field of a form",
    note = "forms are flat: a field is a String, bool, number, an enum with #[derive(Choice)], a Vec of such an enum, or an \
            Option of these; ask for nested things in a form of their own"
)]
pub trait FormField: Sized {
    /// The type without `Option`.
    type Plain: FormField;

    /// Schema of the value.
    fn schema() -> Map<String, Value>;

    /// Reads a value; `None` when it does not fit.
    fn read(value: &Value) -> Option<Self>;

    /// The value as JSON, for defaults.
    fn write(&self) -> Value;

    /// A value for this field of a type that may itself be an `Option`.
    fn from_plain(plain: Self::Plain) -> Self;

    /// The value of a field that was left empty; `None` when it must be filled in.
    fn absent() -> Option<Self> {
        None
    }
}

/// Fields that may have a format.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a text",
    label = "has no format",
    note = "a format is for `String`"
)]
pub trait Text {}

/// Fields that may have a length.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no length",
    label = "has no length",
    note = "a length is for `String` and `Vec`; numbers have a `range(min = ..., max = ...)`"
)]
pub trait HasLength {
    /// Names of the minimum and the maximum length in a schema.
    const BOUNDS: [&str; 2];
}

/// Fields that may have a range.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    label = "has no range",
    note = "a range is for numbers; texts and lists have a `length(min = ..., max = ...)`"
)]
pub trait Number {}

/// Turns a literal object into a map.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl<T: FormField> FormField for Option<T> {
    type Plain = T::Plain;

    fn schema() -> Map<String, Value> {
        T::schema()
    }

    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(Some)
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn from_plain(plain: T::Plain) -> Self {
        Some(T::from_plain(plain))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Text> Text for Option<T> {}
impl<T: Number> Number for Option<T> {}
impl<T: HasLength> HasLength for Option<T> {
    const BOUNDS: [&str; 2] = T::BOUNDS;
}

impl FormField for String {
    type Plain = Self;

    fn schema() -> Map<String, Value> {
        object(json!({ "type": "string" }))
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Into::into)
    }

    fn write(&self) -> Value {
        self.as_str().into()
    }

    fn from_plain(plain: Self) -> Self {
        plain
    }
}

impl Text for String {}
impl HasLength for String {
    const BOUNDS: [&str; 2] = ["minLength", "maxLength"];
}

impl FormField for bool {
    type Plain = Self;

    fn schema() -> Map<String, Value> {
        object(json!({ "type": "boolean" }))
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn from_plain(plain: Self) -> Self {
        plain
    }
}

/// 3.0 is an integer in JSON Schema, and some clients send it for 3.
fn integer(value: &Value) -> Option<i128> {
    /// Above this, a float cannot distinguish neighbouring integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() <= EXACT;
    #[allow(clippy::cast_possible_truncation, reason = "whole and small enough")]
    let float = || value.as_f64().filter(whole).map(|number| number as i128);
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).or_else(float)
}

macro_rules! numbers {
    ($($ty:ty: $schema:tt, $read:expr;)+) => {$(
        impl FormField for $ty {
            type Plain = Self;

            fn schema() -> Map<String, Value> {
                object(json!($schema))
            }

            fn read(value: &Value) -> Option<Self> {
                $read(value)
            }

            fn write(&self) -> Value {
                (*self).into()
            }

            fn from_plain(plain: Self) -> Self {
                plain
            }
        }

        impl Number for $ty {}
    )+};
}

/// The bounds of small types are in the schema, so that the host asks again instead of the tool failing.
macro_rules! integers {
    ($($ty:ty: $schema:tt;)+) => {
        numbers! { $($ty: $schema, |value| integer(value)?.try_into().ok();)+ }
    };
}

integers! {
    u8: { "type": "integer", "minimum": 0, "maximum": u8::MAX };
    u16: { "type": "integer", "minimum": 0, "maximum": u16::MAX };
    u32: { "type": "integer", "minimum": 0, "maximum": u32::MAX };
    u64: { "type": "integer", "minimum": 0 };
    usize: { "type": "integer", "minimum": 0 };
    i8: { "type": "integer", "minimum": i8::MIN, "maximum": i8::MAX };
    i16: { "type": "integer", "minimum": i16::MIN, "maximum": i16::MAX };
    i32: { "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX };
    i64: { "type": "integer" };
    isize: { "type": "integer" };
}

#[allow(clippy::cast_possible_truncation, reason = "whoever takes an f32 asks for its precision")]
fn single(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32)
}

numbers! {
    f32: { "type": "number" }, single;
    f64: { "type": "number" }, Value::as_f64;
}
