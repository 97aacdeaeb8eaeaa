//! Fields of a form that some clients cannot show: numbers and lists. Such a client accepts the form without them, and is then
//! asked for them as text.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The type of value that a text is converted to.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number,
    Integer,
    /// Any of these values, each with the name that a user is shown for it.
    List(Vec<(String, String)>),
}

/// The number and list fields of one form.
#[derive(Debug, Clone, Default)]
pub(super) struct TypedFields {
    kinds: BTreeMap<String, Kind>,
    /// Those among them that each answer must have.
    required: Vec<String>,
}

impl TypedFields {
    /// Reads them from a checked schema.
    pub(super) fn read(schema: &Map<String, Value>) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let kinds: BTreeMap<_, _> =
            properties.filter_map(|(name, property)| Some((name.clone(), Kind::read(property)?))).collect();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).filter(|name| kinds.contains_key(*name));
        Self { required: required.map(str::to_owned).collect(), kinds }
    }

    /// Whether an answer has none of these fields although some are required: its client may not have shown them.
    pub(super) fn are_all_missing(&self, answer: &Value) -> bool {
        !self.required.is_empty() && self.kinds.keys().all(|name| answer.get(name).is_none())
    }

    /// A schema that asks for text in place of these fields.
    pub(super) fn as_text(&self, schema: &str) -> Option<String> {
        let mut schema: Value = serde_json::from_str(schema).ok()?;
        for (name, kind) in &self.kinds {
            let property = schema.get_mut("properties")?.get_mut(name)?;
            // It is asked for as text already.
            if property.get("type").is_some_and(|kind| kind == "string") {
                continue;
            }
            let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
            let description =
                [text("description"), Some(kind.hint())].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let mut asked =
                Map::from_iter([("type".into(), "string".into()), ("description".into(), description.into())]);
            asked.extend(text("title").map(|title| ("title".into(), title.into())));
            *property = asked.into();
        }
        Some(schema.to_string())
    }

    /// The same answer, with the text in these fields converted to values, and without those that were left empty.
    pub(super) fn read_texts(&self, answer: &Value) -> Value {
        let mut answer = answer.clone();
        let Some(fields) = answer.as_object_mut() else { return answer };
        for (name, kind) in &self.kinds {
            let Some(text) = fields.get(name).and_then(Value::as_str).map(str::trim) else { continue };
            if text.is_empty() {
                fields.remove(name);
            } else if let Some(value) = kind.parse(text) {
                fields.insert(name.clone(), value);
            }
        }
        answer
    }
}

impl Kind {
    fn read(property: &Value) -> Option<Self> {
        match property.get("type")?.as_str()? {
            "number" => Some(Self::Number),
            "integer" => Some(Self::Integer),
            "array" => {
                let items = property.get("items")?;
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let named = |choice: &Value| {
                    let value = text(choice.get("const")?)?;
                    Some((value.clone(), choice.get("title").and_then(text).unwrap_or(value)))
                };
                let plain = |value: &Value| Some((text(value)?, text(value)?));
                let choices = match (items.get("anyOf"), items.get("enum")) {
                    (Some(choices), _) => choices.as_array()?.iter().filter_map(named).collect(),
                    (None, choices) => choices?.as_array()?.iter().filter_map(plain).collect(),
                };
                Some(Self::List(choices))
            }
            _ => None,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Number => "(a number)".into(),
            Self::Integer => "(a whole number)".into(),
            Self::List(choices) => {
                let names: Vec<_> = choices.iter().map(|(_, name)| name.as_str()).collect();
                format!("(any of these, with commas between: {})", names.join(", "))
            }
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Number => text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number),
            Self::Integer => text.parse::<i64>().ok().map(Value::from),
            Self::List(choices) => {
                let find = |part: &str| {
                    let choice = choices.iter().find(|(value, name)| part == value || part == name)?;
                    Some(Value::from(choice.0.as_str()))
                };
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(find).collect::<Option<Vec<_>>>().map(Value::Array)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields() -> (TypedFields, Value) {
        let schema = json!({"type": "object", "required": ["nights", "extras"], "properties": {
            "name": {"type": "string"},
            "nights": {"type": "integer", "title": "Nights", "description": "How many?", "minimum": 1, "default": 2},
            "budget": {"type": "number"},
            "extras": {"type": "array", "items": {"anyOf": [{"const": "bf", "title": "Breakfast"}, {"const": "dinner"}]}},
            "days": {"type": "array", "items": {"enum": ["mo", "tu"]}},
        }});
        (TypedFields::read(schema.as_object().unwrap()), schema)
    }

    #[test]
    fn text_is_asked_for_in_their_place() {
        let (fields, schema) = fields();
        let asked: Value = serde_json::from_str(&fields.as_text(&schema.to_string()).unwrap()).unwrap();
        assert_eq!(asked["properties"]["name"], json!({"type": "string"}));
        let nights = json!({"type": "string", "title": "Nights", "description": "How many? (a whole number)"});
        assert_eq!(asked["properties"]["nights"], nights);
        assert_eq!(asked["properties"]["budget"]["description"], "(a number)");
        let extras = &asked["properties"]["extras"]["description"];
        assert_eq!(extras, "(any of these, with commas between: Breakfast, dinner)");
        assert_eq!(asked["required"], schema["required"]);
        assert_eq!(fields.as_text(&asked.to_string()), Some(asked.to_string()), "once");
    }

    #[test]
    fn what_is_written_is_read() {
        let (fields, _) = fields();
        let written =
            json!({"name": "7", "nights": " 3 ", "budget": "1e2", "extras": "Breakfast, dinner,", "days": "mo"});
        let read = json!({"name": "7", "nights": 3, "budget": 100.0, "extras": ["bf", "dinner"], "days": ["mo"]});
        assert_eq!(fields.read_texts(&written), read);
        assert_eq!(fields.read_texts(&json!({"nights": "3", "budget": " "})), json!({"nights": 3}));
        let other = json!({"nights": "three", "budget": "NaN", "extras": "tea", "days": ["mo"]});
        assert_eq!(fields.read_texts(&other), other, "what cannot be read stays, and is refused");
    }

    #[test]
    fn a_client_that_shows_some_of_them_shows_all() {
        let (fields, _) = fields();
        assert!(fields.are_all_missing(&json!({})) && fields.are_all_missing(&json!({"name": "Ada"})));
        assert!(!fields.are_all_missing(&json!({"budget": 1})) && !fields.are_all_missing(&json!({"nights": "x"})));
        let optional = json!({"properties": {"nights": {"type": "integer"}}});
        assert!(!TypedFields::read(optional.as_object().unwrap()).are_all_missing(&json!({})));
    }
}
