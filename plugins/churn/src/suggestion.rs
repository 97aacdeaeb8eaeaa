//! What the client's model takes the question to mean: a start for the user's form, never more.

use portcullis_guest::client::{self, ClientError};
use portcullis_guest::{Choice, ToolError, log};
use serde_json::{Value, json};

use crate::definition::Definition;
use crate::quarter::Quarter;

/// Values for the form's fields, as far as the question's words or the model settle them. A reviewer's no ends the tool;
/// a client without a model, or an operator who does not grant it, leaves more to the user.
pub(crate) fn of_model(question: &str, meanings: &[Definition]) -> Result<Value, ToolError> {
    let mut suggestion = of_words(question, meanings);
    let asked = client::sample(format!("{}\n\nThe question: {question}", task()))
        .max_tokens(300)
        .purpose("find out what a question about churn means")
        .key("suggestion")
        .ask();
    match asked {
        Ok(answer) => read(&answer.text(), &mut suggestion),
        Err(error @ (ClientError::Unsupported(_) | ClientError::Denied(_))) => log::info!("no suggestion: {error}"),
        Err(error) => return Err(error.into()),
    }
    Ok(suggestion)
}

fn task() -> String {
    let quoted = |options: &[(&'static str, Option<&'static str>)]| {
        options.iter().map(|(value, _)| format!("{value:?}")).collect::<Vec<_>>().join(" | ")
    };
    format!(
        "What does this question about churn mean? Answer with JSON only: \
         {{ \"definition\": {}, \"quarter\": {}, \"year\": number, \"assumptions\": text }}",
        quoted(Definition::OPTIONS),
        quoted(Quarter::OPTIONS)
    )
}

/// Without a model: the one definition that the words allow, and a year among them.
fn of_words(question: &str, meanings: &[Definition]) -> Value {
    let mut suggestion = json!({});
    if let [only] = meanings {
        suggestion["definition"] = only.value().into();
    }
    let numbers = question.split(|c: char| !c.is_ascii_digit());
    if let Some(year) = numbers.filter_map(|number| number.parse().ok()).find(|year: &u16| (2000..2100).contains(year))
    {
        suggestion["year"] = year.into();
    }
    suggestion
}

/// Takes from a model's answer what makes sense: JSON, perhaps with words around it and titles in place of values.
fn read(answer: &str, suggestion: &mut Value) {
    let json = answer.find('{').zip(answer.rfind('}')).and_then(|(from, to)| answer.get(from..=to));
    let said: Value = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let text = |name: &str| said[name].as_str().unwrap_or_default();
    let year = said["year"].as_u64().or_else(|| text("year").trim().parse().ok());
    let found = [
        ("definition", choice::<Definition>(text("definition")).map(Value::from)),
        ("quarter", choice::<Quarter>(text("quarter")).map(Value::from)),
        ("year", year.filter(|year| (2000..2100).contains(year)).map(Value::from)),
        ("notes", assumptions(&said["assumptions"]).map(Value::from)),
    ];
    for (name, value) in found {
        if let Some(value) = value {
            suggestion[name] = value;
        }
    }
}

/// The option that goes by this name or title, whatever its spelling.
fn choice<C: Choice>(said: &str) -> Option<&'static str> {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let same = |text: &str| letters(text) == letters(said);
    let found = C::OPTIONS.iter().find(|(value, title)| same(value) || title.is_some_and(same));
    found.map(|(value, _)| *value)
}

/// Some models write a list.
fn assumptions(said: &Value) -> Option<String> {
    let lines = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
    let text = said.as_str().map(ToOwned::to_owned).or_else(|| said.as_array().map(lines))?;
    // As long as the form takes.
    Some(text.chars().take(500).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_leniently() {
        let read = |answer: &str| {
            let mut suggestion = json!({});
            read(answer, &mut suggestion);
            suggestion
        };
        let exact = r#"{"definition":"paid-customers","quarter":"calendar-q4","year":2025,"assumptions":"none"}"#;
        let expected =
            json!({ "definition": "paid-customers", "quarter": "calendar-q4", "year": 2025, "notes": "none" });
        assert_eq!(read(exact), expected);
        assert_eq!(read(&format!("Sure!\n```json\n{exact}\n```\nAnything else?")), expected);
        let titles = r#"{"definition":"Paid customers","quarter":"CALENDAR Q4","year":" 2025","assumptions":["none"]}"#;
        assert_eq!(read(titles), expected);
        assert_eq!(read(r#"{"definition":"both","quarter":4,"year":99999}"#), json!({}));
        for nonsense in ["", "I do not know.", "} {", "{]}", "[1]"] {
            assert_eq!(read(nonsense), json!({}), "{nonsense}");
        }
    }

    #[test]
    fn words_settle_what_they_can() {
        let of = |question: &str| of_words(question, &Definition::meant_by(question).unwrap_or_default());
        assert_eq!(of("churn last quarter"), json!({}));
        assert_eq!(of("churn of paying customers in 2025"), json!({ "definition": "paid-customers", "year": 2025 }));
        assert_eq!(of("churn of trials, Q4"), json!({ "definition": "all-accounts" }));
        assert_eq!(of("churn of customers and trials"), json!({}));
        assert!(Definition::meant_by("revenue last quarter").is_err());
    }
}
