//! What `#[derive(Form)]` and `#[derive(Choice)]` make: schemas, and typed answers.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use portcullis_guest::{Choice, Form};
use serde_json::{Value, json};

#[derive(Form, Debug, PartialEq)]
struct Trip {
    /// A city's name.
    ///
    /// # Notes
    /// Not for users.
    destination: String,
    #[form(title = "E-mail", format = "email", length(min = 5, max = 80))]
    email: String,
    #[form(range(min = 1, max = 14), default = 3)]
    nights: u8,
    #[form(description = "At most.", range(min = 0.5))]
    price: f64,
    confirm: bool,
    class: Class,
    #[form(default = vec![Extra::LegRoom], length(max = 2))]
    extras: Vec<Extra>,
    notes: Option<String>,
    #[form(rename = "return-date", format = "date", default = "2026-12-24")]
    return_date: Option<String>,
    #[form(default = Class::Business)]
    r#else: Class,
    #[form(default)]
    remind: bool,
}

#[derive(Choice, Clone, Copy, Debug, PartialEq)]
enum Class {
    Economy,
    #[form(title = "Business class")]
    Business,
}

#[derive(Choice, Debug, PartialEq)]
#[form(rename_all = "kebab-case")]
enum Extra {
    LegRoom,
    #[form(rename = "lunch")]
    Food,
}

#[derive(Choice, Debug, PartialEq)]
enum Titled {
    #[form(title = "One")]
    A,
    B,
}

#[derive(Form)]
struct Lists {
    titled: Vec<Titled>,
    small: Option<i8>,
    large: u64,
    whole: i64,
}

#[derive(Form)]
struct Nothing {}

fn schema<F: Form>() -> Value {
    serde_json::from_str(&F::schema()).unwrap()
}

fn class(default: Option<&str>) -> Value {
    let business = json!({ "const": "Business", "title": "Business class" });
    let mut class = json!({ "type": "string", "oneOf": [{ "const": "Economy", "title": "Economy" }, business] });
    if let Some(default) = default {
        class["default"] = default.into();
    }
    class
}

#[test]
fn schemas_are_flat() {
    assert_eq!(
        schema::<Trip>(),
        json!({
            "type": "object",
            "properties": {
                "destination": { "type": "string", "description": "A city's name." },
                "email": { "type": "string", "title": "E-mail", "format": "email", "minLength": 5, "maxLength": 80 },
                "nights": { "type": "integer", "minimum": 1, "maximum": 14, "default": 3 },
                "price": { "type": "number", "description": "At most.", "minimum": 0.5 },
                "confirm": { "type": "boolean" },
                "class": class(None),
                "extras": {
                    "type": "array",
                    "items": { "type": "string", "enum": ["leg-room", "lunch"] },
                    "maxItems": 2,
                    "default": ["leg-room"],
                },
                "notes": { "type": "string" },
                "return-date": { "type": "string", "format": "date", "default": "2026-12-24" },
                "else": class(Some("Business")),
                "remind": { "type": "boolean", "default": false },
            },
            "required": ["destination", "email", "price", "confirm", "class"],
        })
    );
    assert_eq!(schema::<Nothing>(), json!({ "type": "object", "properties": {} }));
}

#[test]
fn lists_and_integers_have_bounds() {
    assert_eq!(
        schema::<Lists>()["properties"],
        json!({
            "titled": {
                "type": "array",
                "items": { "anyOf": [{ "const": "A", "title": "One" }, { "const": "B", "title": "B" }] },
            },
            "small": { "type": "integer", "minimum": -128, "maximum": 127 },
            "large": { "type": "integer", "minimum": 0 },
            "whole": { "type": "integer" },
        })
    );
}

#[test]
fn fields_keep_their_order() {
    let text = Trip::schema();
    let places = ["destination", "email", "nights", "price", "confirm", "class"].map(|name| text.find(name).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn answers_are_typed() {
    let answer = json!({
        "destination": "Oslo", "email": "a@b.no", "price": 99, "confirm": true, "class": "Economy", "notes": null,
        "nights": 4.0, "extras": ["lunch", "leg-room"], "unasked": 1,
    });
    let trip = Trip::read(&answer.to_string()).unwrap();
    let expected = Trip {
        destination: "Oslo".into(),
        email: "a@b.no".into(),
        nights: 4,
        price: 99.0,
        confirm: true,
        class: Class::Economy,
        extras: vec![Extra::Food, Extra::LegRoom],
        notes: None,
        return_date: Some("2026-12-24".into()),
        r#else: Class::Business,
        remind: false,
    };
    assert_eq!(trip, expected);
}

#[test]
fn what_does_not_fit_is_named() {
    let fails = |answer: Value| Lists::read(&answer.to_string()).err().unwrap().to_string();
    assert_eq!(fails(json!({})), "`titled` is missing");
    assert_eq!(fails(json!({ "titled": ["C"] })), r#"`titled` is ["C"], which does not fit"#);
    let with = |small: Value| json!({ "titled": [], "small": small, "large": 1, "whole": 1 });
    assert_eq!(fails(with(json!(128))), "`small` is 128, which does not fit");
    assert_eq!(fails(with(json!(1.5))), "`small` is 1.5, which does not fit");
    assert!(fails(json!([])).contains("expected a map"));
    let read = Lists::read(&with(json!(-128)).to_string()).unwrap();
    assert_eq!((read.titled.len(), read.small, read.large, read.whole), (0, Some(-128), 1, 1));
}

#[test]
fn choices_know_their_names() {
    assert_eq!((Class::Business.value(), Class::Business.title()), ("Business", Some("Business class")));
    assert_eq!((Extra::Food.value(), Extra::from_value("leg-room")), ("lunch", Some(Extra::LegRoom)));
    assert_eq!(Extra::from_value("LegRoom"), None);
}
