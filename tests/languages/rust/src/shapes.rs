//! What goes in and out: arguments, structured results, content, errors.

use std::collections::BTreeMap;

use portcullis_guest::{Content, ContentData, EmbeddedResource, Json, ResourceLink, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a greeting sounds.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
    Plain,
    Loud,
}

pub(crate) fn greeting(name: &str, times: i64, style: Style, title: Option<&str>) -> String {
    let title = title.map(|title| format!("{title} ")).unwrap_or_default();
    let line = format!("Hello, {title}{name}!");
    let line = match style {
        Style::Plain => line,
        Style::Loud => line.to_uppercase(),
    };
    (0..times).map(|_| line.as_str()).collect::<Vec<_>>().join("\n")
}

pub(crate) type Weights = BTreeMap<String, i64>;

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Point {
    x: i64,
    /// Upwards.
    y: i64,
    label: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Measured {
    /// How many points.
    count: i64,
    width: f64,
    weight: i64,
    labels: Vec<String>,
    first: Option<Point>,
}

pub(crate) fn measure(points: Vec<Point>, weights: &Weights, scale: f64, named: bool) -> Measured {
    let xs = || points.iter().map(|point| point.x);
    let width = xs().max().unwrap_or_default() - xs().min().unwrap_or_default();
    Measured {
        count: points.len() as i64,
        width: width as f64 * scale,
        weight: weights.values().sum(),
        labels: points.iter().filter_map(|point| point.label.clone()).collect(),
        first: if named { points.into_iter().next() } else { None },
    }
}

pub(crate) fn contents() -> Vec<Content> {
    let link = ResourceLink {
        title: Some("About".into()),
        description: Some("What this is.".into()),
        mime_type: Some("text/plain".into()),
        size: Some(27),
        ..ResourceLink::new("polyglot://about", "about")
    };
    vec![
        Content::text("text"),
        Content::image("image/png", vec![1, 2, 3]),
        Content::audio("audio/wav", vec![4, 5, 6]),
        ContentData::ResourceLink(link).into(),
        ContentData::Resource(EmbeddedResource::text("polyglot://note", "a note").mime_type("text/plain")).into(),
        ContentData::Resource(EmbeddedResource::bytes("polyglot://bytes", vec![7, 8])).into(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Failure {
    Invalid,
    Failed,
    Unsupported,
    Content,
    Error,
}

pub(crate) fn fail(how: Failure) -> Result<ToolResult, ToolError> {
    match how {
        Failure::Invalid => Err(ToolError::invalid("`how` was not wanted")),
        Failure::Failed => Err(ToolError::failed("it did not work")),
        Failure::Unsupported => Err(ToolError::Unsupported("a printer".into())),
        Failure::Content => Ok(ToolResult::error(vec![Content::text("it went wrong"), Content::text("twice")])),
        Failure::Error => Err(std::io::Error::other("an ordinary error").into()),
    }
}

#[derive(Serialize)]
pub(crate) struct Word {
    word: String,
    length: usize,
}

pub(crate) fn word(word: String) -> Result<Option<Json<Word>>, ToolError> {
    match word.as_str() {
        "missing" => Ok(None),
        "broken" => Err(ToolError::failed("this word is broken")),
        _ => Ok(Some(Json(Word { length: word.chars().count(), word }))),
    }
}
