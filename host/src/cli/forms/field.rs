//! One property of a form: what may be typed, and what it means.

use super::yes_no::parse_yes_no;
use serde_json::{Number, Value};
use url::Url;

pub(super) struct Field<'a> {
    property: &'a Value,
    choices: Vec<Choice>,
}

/// A value that may be chosen.
struct Choice {
    value: String,
    title: Option<String>,
}

impl<'a> Field<'a> {
    pub(super) fn new(property: &'a Value) -> Self {
        Self { property, choices: choices(property) }
    }

    /// Describes what may be typed; shown after the title.
    pub(super) fn hint(&self) -> String {
        let hint = match (self.kind(), self.choices.is_empty()) {
            (_, false) => self.choices.iter().map(Choice::shown).collect::<Vec<_>>().join(", "),
            ("boolean", _) => "yes, no".to_owned(),
            ("integer" | "number", _) => {
                let [least, most] = ["minimum", "maximum"].map(|bound| self.property.get(bound));
                match (least, most) {
                    (Some(least), Some(most)) => format!("{least} to {most}"),
                    (Some(least), None) => format!("at least {least}"),
                    (None, Some(most)) => format!("at most {most}"),
                    (None, None) => return String::new(),
                }
            }
            _ => match self.property["format"].as_str() {
                Some("email") => "an email address".to_owned(),
                Some("uri") => "a URL".to_owned(),
                Some("date") => "a date, such as 2026-12-31".to_owned(),
                Some("date-time") => "a time, such as 2026-12-31T09:00:00Z".to_owned(),
                _ => return String::new(),
            },
        };
        format!(" [{hint}]")
    }

    fn kind(&self) -> &str {
        self.property["type"].as_str().unwrap_or_default()
    }

    /// Converts what was typed to a value. The error is the end of a sentence about it.
    pub(super) fn parse(&self, input: &str) -> Result<Value, String> {
        match self.kind() {
            "boolean" => parse_yes_no(input).map(Value::from).ok_or_else(|| "type yes or no".to_owned()),
            "integer" => {
                let number = input.parse::<i64>().map(Number::from).map_err(|_| "type a whole number");
                self.bounded(number?)
            }
            "number" => self.bounded(input.parse::<Number>().map_err(|_| "type a number")?),
            "array" => {
                let pieces = input.split(',').map(str::trim).filter(|piece| !piece.is_empty());
                let values = pieces.map(|piece| self.text(piece)).collect::<Result<Vec<_>, _>>()?;
                self.counted("minItems", "maxItems", values.len(), "of them")?;
                Ok(values.into())
            }
            _ => {
                let value = self.text(input)?;
                if self.choices.is_empty() {
                    self.counted("minLength", "maxLength", input.chars().count(), "characters")?;
                    self.check_format(input)?;
                }
                Ok(value)
            }
        }
    }

    fn bounded(&self, number: Number) -> Result<Value, String> {
        let is = number.as_f64().unwrap_or_default();
        let bound = |name: &str| self.property[name].as_f64();
        let wrong = |words: &str, name: &str| Err(format!("it must be {words} {}", self.property[name]));
        match () {
            () if bound("minimum").is_some_and(|least| is < least) => wrong("at least", "minimum"),
            () if bound("maximum").is_some_and(|most| is > most) => wrong("at most", "maximum"),
            () if bound("exclusiveMinimum").is_some_and(|least| is <= least) => wrong("more than", "exclusiveMinimum"),
            () if bound("exclusiveMaximum").is_some_and(|most| is >= most) => wrong("less than", "exclusiveMaximum"),
            () => Ok(number.into()),
        }
    }

    fn counted(&self, least: &str, most: &str, count: usize, what: &str) -> Result<(), String> {
        let count = count as u64;
        match (self.property[least].as_u64(), self.property[most].as_u64()) {
            (Some(least), _) if count < least => Err(format!("at least {least} {what}")),
            (_, Some(most)) if count > most => Err(format!("at most {most} {what}")),
            _ => Ok(()),
        }
    }

    /// A text, or the choice that is meant: by its value or its title.
    fn text(&self, input: &str) -> Result<Value, String> {
        if self.choices.is_empty() {
            return Ok(input.into());
        }
        let is = |text: &str| text.eq_ignore_ascii_case(input);
        let exact = self.choices.iter().find(|choice| choice.value == input);
        let meant = exact.or_else(|| {
            self.choices.iter().find(|choice| is(&choice.value) || choice.title.as_deref().is_some_and(is))
        });
        meant.map(|choice| choice.value.as_str().into()).ok_or_else(|| format!("`{input}` is none of them"))
    }

    fn check_format(&self, input: &str) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("`{input}` is not {what}"));
        match self.property["format"].as_str() {
            Some("email") if !is_email(input) => wrong("an email address"),
            Some("uri") if Url::parse(input).is_err() => wrong("a URL"),
            Some("date") if !is_date(input) => wrong("a date, such as 2026-12-31"),
            Some("date-time") if !is_time(input) => wrong("a time, such as 2026-12-31T09:00:00Z"),
            _ => Ok(()),
        }
    }
}

impl Choice {
    fn shown(&self) -> String {
        match &self.title {
            Some(title) if *title != self.value => format!("{}: {title}", self.value),
            _ => self.value.clone(),
        }
    }
}

fn choices(property: &Value) -> Vec<Choice> {
    let items = property.get("items").unwrap_or(property);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let titled = |list: &Value| {
        let all = list.as_array().into_iter().flatten();
        all.filter_map(|one| Some(Choice { value: text(&one["const"])?, title: text(&one["title"]) })).collect()
    };
    match (&items["enum"], &items["oneOf"], &items["anyOf"]) {
        (Value::Array(values), ..) => {
            let titles = |at: usize| text(&items["enumNames"][at]);
            let numbered = values.iter().enumerate();
            numbered.filter_map(|(at, value)| Some(Choice { value: text(value)?, title: titles(at) })).collect()
        }
        (_, list @ Value::Array(_), _) | (_, _, list @ Value::Array(_)) => titled(list),
        _ => Vec::new(),
    }
}

fn is_email(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.contains(['@', ' ']);
    text.rsplit_once('@').is_some_and(|(who, host)| is_part(who) && is_part(host))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).is_ok()
}

/// Whether it is a time as in RFC 3339, with any offset.
fn is_time(text: &str) -> bool {
    let is_offset = |text: &str| {
        let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.split_once(':').is_some_and(|(hours, minutes)| digits(hours) && digits(minutes))
    };
    let at = text.len().saturating_sub(6);
    let utc = match (text.get(..at), text.get(at..)) {
        (Some(time), Some(offset)) if offset.starts_with(['+', '-']) && is_offset(&offset[1..]) => format!("{time}Z"),
        _ => text.to_ascii_uppercase(),
    };
    humantime::parse_rfc3339(&utc).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn input_is_of_the_property_type_and_within_its_bounds() {
        let size = json!({"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "m"}]});
        let days = json!({"type": "array", "items": {"enum": ["mon", "tue"]}, "minItems": 1, "maxItems": 2});
        let named = json!({"enum": ["a"], "enumNames": ["First"]});
        let number = json!({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2});
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        for (property, hint, input, value) in [
            (json!({"type": "boolean"}), " [yes, no]", "Yes", json!(true)),
            (json!({"type": "integer", "minimum": 1, "maximum": 9}), " [1 to 9]", "3", json!(3)),
            (number.clone(), " [at least 0.5]", "1.5", json!(1.5)),
            (size.clone(), " [s: Small, m]", "small", json!("s")),
            (size.clone(), " [s: Small, m]", "M", json!("m")),
            (named, " [a: First]", "first", json!("a")),
            (days.clone(), " [mon, tue]", "tue, mon", json!(["tue", "mon"])),
            (json!({"type": "array"}), "", "a, b", json!(["a", "b"])),
            (text.clone(), "", "äöü", json!("äöü")),
            (json!({"format": "email"}), " [an email address]", "a@b.example", json!("a@b.example")),
            (json!({"format": "date"}), " [a date, such as 2026-12-31]", "2026-02-28", json!("2026-02-28")),
            (json!({"format": "uri"}), " [a URL]", "https://a.example", json!("https://a.example")),
            (json!({"format": "other"}), "", "x", json!("x")),
        ] {
            let field = Field::new(&property);
            assert_eq!((field.hint().as_str(), field.parse(input)), (hint, Ok(value)), "{property}");
        }
        let zoned = json!({"format": "date-time"});
        for time in ["2026-12-31T09:00:00Z", "2026-12-31T09:00:00.5z", "2026-12-31T09:00:00+02:00"] {
            assert!(Field::new(&zoned).parse(time).is_ok(), "{time}");
        }
        for (property, input, why) in [
            (json!({"type": "boolean"}), "perhaps", "type yes or no"),
            (json!({"type": "integer"}), "1.5", "type a whole number"),
            (number.clone(), "0.1", "it must be at least 0.5"),
            (number, "2", "it must be less than 2"),
            (size, "large", "`large` is none of them"),
            (days.clone(), "mon, sun", "`sun` is none of them"),
            (days, ",", "at least 1 of them"),
            (text.clone(), "a", "at least 2 characters"),
            (text, "abcd", "at most 3 characters"),
            (json!({"format": "email"}), "not-an-email", "`not-an-email` is not an email address"),
            (json!({"format": "date"}), "tomorrow", "`tomorrow` is not a date, such as 2026-12-31"),
            (json!({"format": "date"}), "2026-13-01", "`2026-13-01` is not a date, such as 2026-12-31"),
            (json!({"format": "uri"}), "a b", "`a b` is not a URL"),
            (zoned, "9:00", "`9:00` is not a time, such as 2026-12-31T09:00:00Z"),
        ] {
            assert_eq!(Field::new(&property).parse(input), Err(why.to_owned()), "{property}");
        }
    }
}
