//! Who can be asked: agent tools by the patterns of their names.

use portcullis_guest::agent_tools::{self, Call};
use portcullis_guest::{Tool, ToolError, log};
use serde_json::{Value, json};

/// What the argument that takes the words is mostly called.
const USUAL: [&str; 6] = ["query", "q", "question", "topic", "text", "pattern"];

/// A tool that can be asked.
pub(crate) struct Source {
    pub(crate) name: String,
    /// The argument that takes the words.
    argument: String,
    /// Why it is not asked any more.
    pub(crate) broken: Option<String>,
}

impl Source {
    /// Asks it about one part.
    pub(crate) fn ask(&self, part: &str) -> Call {
        Call::new(&self.name, &json!({ &self.argument: part })).chunks()
    }
}

/// The tools whose names match a pattern and which take words, in the order of the patterns.
pub(crate) fn find(patterns: &[String]) -> Result<Vec<Source>, ToolError> {
    let tools = agent_tools::list();
    let mut sources: Vec<Source> = Vec::new();
    for pattern in patterns {
        for tool in tools.iter().filter(|tool| matches(pattern, &tool.name)) {
            if sources.iter().any(|source| source.name == tool.name) {
                continue;
            }
            match argument(tool) {
                Some(argument) => sources.push(Source { name: tool.name.clone(), argument, broken: None }),
                None => log::info!("left out {}: no argument takes words", tool.name),
            }
        }
    }
    if sources.is_empty() {
        let patterns = patterns.join(", ");
        return Err(ToolError::Unsupported(format!("no tool that may be called is named {patterns} and takes words")));
    }
    Ok(sources)
}

/// The argument that takes the words: the one that is required, or the one with a usual name. A tool that requires
/// anything else cannot be asked.
fn argument(tool: &Tool) -> Option<String> {
    let schema: Value = serde_json::from_str(&tool.input_schema).ok()?;
    let Some(properties) = schema["properties"].as_object() else { return Some(USUAL[0].to_owned()) };
    let takes_words = |name: &str| properties.get(name).is_some_and(|property| property["type"] == "string");
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let name = match required[..] {
        [] => USUAL.into_iter().find(|name| takes_words(name)),
        [only] => Some(only).filter(|name| takes_words(name)),
        _ => None,
    };
    name.map(str::to_owned)
}

/// Whether `*` of the pattern can stand for something that makes the name of it.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(before) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| matches(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name) in
            [("*search", "a.search"), ("a.*", "a.b"), ("*.*search", "alpha.x__search"), ("a.b", "a.b")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*search", "a.searcher"), ("a.*", "ab.c"), ("", "a"), ("a*a", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
