//! The schema of a form, built by generated code.

use std::marker::PhantomData;

use serde_json::{Map, Value};

use super::field::{FormField, HasLength, Number, Text};

/// The schema of a form.
#[derive(Debug, Default)]
pub struct Schema {
    properties: Vec<Property>,
    required: Vec<&'static str>,
}

#[derive(Debug)]
struct Property {
    name: &'static str,
    schema: Map<String, Value>,
    fits: fn(&Value) -> bool,
}

impl Schema {
    /// A form without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    #[must_use]
    pub fn field<T: FormField>(mut self, field: Field<T>) -> Self {
        let Field { name, schema, .. } = field;
        if T::absent().is_none() && !schema.contains_key("default") {
            self.required.push(name);
        }
        self.properties.push(Property { name, schema, fits: |value| T::read(value).is_some() });
        self
    }

    /// Replaces defaults of fields by an object of their values. The fields stay required: the user sees and sends
    /// them.
    #[must_use]
    pub(crate) fn start_with(mut self, values: &Value) -> Self {
        for Property { name, schema, fits } in &mut self.properties {
            if let Some(value) = values.get(*name).filter(|value| fits(value)) {
                schema.insert("default".into(), value.clone());
            }
        }
        self
    }

    /// The schema as JSON text. It is assembled by hand: a map of serde_json sorts its keys, but users should see the
    /// fields in their declared order.
    pub fn into_text(self) -> String {
        let property =
            |property: Property| format!("{}:{}", Value::from(property.name), Value::Object(property.schema));
        let properties = self.properties.into_iter().map(property).collect::<Vec<_>>().join(",");
        // Some validators refuse an empty list.
        let required = match self.required.as_slice() {
            [] => String::new(),
            names => format!(r#","required":{}"#, Value::from(names)),
        };
        format!(r#"{{"type":"object","properties":{{{properties}}}{required}}}"#)
    }
}

/// A field and its schema.
#[derive(Debug)]
pub struct Field<T> {
    name: &'static str,
    schema: Map<String, Value>,
    of: PhantomData<fn() -> T>,
}

/// A field of this type. Not a method, since compiler errors about methods are less helpful when the type is wrong.
pub fn field<T: FormField>(name: &'static str) -> Field<T> {
    Field { name, schema: T::schema(), of: PhantomData }
}

impl<T> Field<T> {
    fn with(mut self, keyword: &str, value: Value) -> Self {
        self.schema.insert(keyword.to_owned(), value);
        self
    }

    /// `title = "..."`
    #[must_use]
    pub fn title(self, text: &str) -> Self {
        self.with("title", text.into())
    }

    /// A doc comment, or `description = "..."`.
    #[must_use]
    pub fn description(self, text: &str) -> Self {
        self.with("description", text.into())
    }

    /// `default = ...`
    #[must_use]
    pub fn default(self, value: &T::Plain) -> Self
    where
        T: FormField,
    {
        self.with("default", value.write())
    }

    /// `format = "..."`
    #[must_use]
    pub fn format(self, name: &str) -> Self
    where
        T: Text,
    {
        self.with("format", name.into())
    }

    /// `range(min = ...)`
    #[must_use]
    pub fn at_least(self, bound: impl Into<Value>) -> Self
    where
        T: Number,
    {
        self.with("minimum", bound.into())
    }

    /// `range(max = ...)`
    #[must_use]
    pub fn at_most(self, bound: impl Into<Value>) -> Self
    where
        T: Number,
    {
        self.with("maximum", bound.into())
    }

    /// `length(min = ...)`
    #[must_use]
    pub fn no_shorter(self, bound: u32) -> Self
    where
        T: HasLength,
    {
        self.with(T::BOUNDS[0], bound.into())
    }

    /// `length(max = ...)`
    #[must_use]
    pub fn no_longer(self, bound: u32) -> Self
    where
        T: HasLength,
    {
        self.with(T::BOUNDS[1], bound.into())
    }
}
