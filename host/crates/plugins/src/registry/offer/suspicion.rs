//! Words of a plugin that look as if they were meant for a model and not for a reader. Only a hint for whoever reviews a
//! plugin: who wants to can word anything otherwise, and nothing is refused for it. What is served is what was shown.

use platform::telemetry::printable;
use runtime::imports::Offer;
use serde_json::Value;

/// Suspicions of one plugin that are told. Bounds what a review prints.
const MAX_TOLD: usize = 64;
/// How much of a text is shown, in characters.
const EXCERPT: usize = 60;
/// So many letters and digits in one piece are no word.
const BLOB: usize = 64;

/// Phrases, each with what they would be there for. Looked for in small letters, with single spaces.
const PHRASES: &[(&str, &[&str])] = &[
    (
        "marks text up as instructions",
        &[
            "<important",
            "<system",
            "<instruction",
            "<secret",
            "<hidden",
            "<assistant",
            "<s>",
            "[inst]",
            "<|",
            "<!--",
            "system prompt",
            "system:",
            "assistant:",
            "### instruction",
            "begin instructions",
            "end of description",
        ],
    ),
    (
        "says what to do with other tools",
        &[
            "before using",
            "before calling",
            "before any other",
            "before every",
            "prior to using",
            "prior to calling",
            "after using this",
            "after calling this",
            "always call",
            "always use this",
            "must be called first",
            "call this tool first",
            "must first",
            "instead of using",
            "instead of the",
            "do not use any other",
            "never use the",
            "use this tool for all",
            "any other tool",
            "all other tools",
            "other tools must",
        ],
    ),
    (
        "asks for secrecy",
        &[
            "do not tell",
            "don't tell",
            "do not mention",
            "don't mention",
            "never mention",
            "never tell",
            "without telling",
            "without informing",
            "without asking",
            "do not inform",
            "do not reveal",
            "do not show",
            "do not display",
            "keep this secret",
            "keep it secret",
            "not visible to the user",
            "user must not",
            "user should not know",
            "silently",
            "secretly",
            "do not ask the user",
            "no need to tell",
            "hide this",
        ],
    ),
    (
        "wants to overrule somebody",
        &[
            "ignore previous",
            "ignore all",
            "ignore any",
            "ignore the above",
            "disregard",
            "forget everything",
            "forget all",
            "forget previous",
            "new instructions",
            "override",
            "you are now",
            "you must",
            "act as",
            "pretend",
            "regardless of what the user",
            "even if the user",
            "takes precedence",
            "highest priority",
            "developer mode",
            "jailbreak",
        ],
    ),
    (
        "is after secrets or the conversation",
        &[
            ".ssh",
            "id_rsa",
            "id_ed25519",
            "/etc/passwd",
            "/etc/shadow",
            ".env file",
            ".aws/",
            "mcp.json",
            ".cursor",
            "private key",
            "api key",
            "api_key",
            "access token",
            "passwords",
            "credentials",
            "entire conversation",
            "conversation history",
            "previous messages",
            "chat history",
            "full context",
            "environment variables",
        ],
    ),
];

/// What looks odd, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspicion {
    /// Such as ``description of tool `run` ``.
    pub of: String,
    /// What it looks like.
    pub why: &'static str,
    /// The beginning of the passage.
    pub passage: String,
}

impl std::fmt::Display for Suspicion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} {}: \"{}\"", self.of, self.why, printable(&self.passage))
    }
}

/// Everything odd in an offer, texts inside schemas included.
pub fn suspicions(offer: &Offer) -> Vec<Suspicion> {
    let mut texts = texts(offer);
    for tool in &offer.tools {
        for (which, schema) in [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())] {
            if let Some(Ok(schema)) = schema.map(|schema| serde_json::from_str::<Value>(schema)) {
                strings(&schema, &format!("{which} schema of tool `{}`", tool.name), &mut texts);
            }
        }
    }
    let odd = texts.iter().flat_map(|(of, text)| {
        of_text(text).into_iter().map(|(why, passage)| Suspicion { of: of.clone(), why, passage })
    });
    odd.take(MAX_TOLD).collect()
}

/// Titles and descriptions, each with what it is.
pub(super) fn texts(offer: &Offer) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut add = |what: &str, of: String, text: Option<&String>| {
        if let Some(text) = text {
            texts.push((format!("{what} of {of}"), text.clone()));
        }
    };
    for tool in &offer.tools {
        let of = || format!("tool `{}`", tool.name);
        add("title", of(), tool.title.as_ref());
        add("description", of(), Some(&tool.description));
    }
    for it in &offer.resources {
        let of = || format!("resource `{}`", it.uri);
        add("title", of(), it.title.as_ref());
        add("description", of(), it.description.as_ref());
    }
    for it in &offer.templates {
        let of = || format!("resource template `{}`", it.uri_template);
        add("title", of(), it.title.as_ref());
        add("description", of(), it.description.as_ref());
    }
    for prompt in &offer.prompts {
        let of = || format!("prompt `{}`", prompt.name);
        add("title", of(), prompt.title.as_ref());
        add("description", of(), prompt.description.as_ref());
        for argument in &prompt.arguments {
            let of = || format!("argument `{}` of {}", argument.name, of());
            add("title", of(), argument.title.as_ref());
            add("description", of(), argument.description.as_ref());
        }
    }
    texts
}

fn strings(value: &Value, of: &str, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((of.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| strings(item, of, texts)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            texts.push((of.to_owned(), key.clone()));
            strings(member, of, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is odd in one text: one passage for each reason.
fn of_text(text: &str) -> Vec<(&'static str, String)> {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().replace('’', "'");
    let around = |at: usize| plain[at..].chars().take(EXCERPT).collect::<String>();
    let mut odd: Vec<(&'static str, String)> = PHRASES
        .iter()
        .filter_map(|(why, phrases)| Some((*why, around(phrases.iter().find_map(|phrase| plain.find(phrase))?))))
        .collect();
    let mut word = |why, odd_one: fn(&str) -> bool| {
        if let Some(found) = text.split_whitespace().find(|word| odd_one(word)) {
            odd.push((why, found.chars().take(EXCERPT).collect()));
        }
    };
    word("holds what only a program can read", is_blob);
    word("mixes alphabets in a word", mixes_alphabets);
    word("is written in letters that only look like letters", |word| word.chars().any(is_dressed_up));
    if text.contains("\n\n\n\n") || text.contains(&" ".repeat(24)) {
        odd.push(("leaves so much room that what follows is out of sight", String::new()));
    }
    odd
}

/// Base64 or hexadecimal.
fn is_blob(word: &str) -> bool {
    let part = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_'));
    word.split(part).any(|run| {
        let some = |of: fn(&char) -> bool| run.chars().any(|c| of(&c));
        run.len() >= BLOB && some(char::is_ascii_digit) && some(char::is_ascii_alphabetic)
    })
}

fn mixes_alphabets(word: &str) -> bool {
    let any = |of: fn(char) -> bool| word.chars().any(of);
    let latin = any(|c| c.is_ascii_alphabetic());
    // An `Ω` or a `µ` beside a unit is Greek too; what passes for Latin are small and capital letters of these.
    latin
        && any(
            |c| matches!(c, '\u{400}'..='\u{52f}' | '\u{391}'..='\u{3a8}' | '\u{3b1}'..='\u{3bb}' | '\u{3bd}'..='\u{3c9}'),
        )
}

/// Full width, mathematical, circled.
fn is_dressed_up(c: char) -> bool {
    matches!(c, '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{fb00}'..='\u{fb06}')
}

#[cfg(test)]
mod tests {
    use super::super::testing::tool;
    use super::*;
    use crate::registry::offer::{check, plain};

    /// Lines of `refused`, `odd` or `fine`, a tab, and a text with escapes as in Rust.
    const CORPUS: &str = include_str!("suspicion/corpus.txt");

    fn unescaped(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            let escape = &rest[at + 1..];
            rest = match escape.chars().next().unwrap() {
                'u' => {
                    let end = escape.find('}').unwrap();
                    out.push(char::from_u32(u32::from_str_radix(&escape[2..end], 16).unwrap()).unwrap());
                    &escape[end + 1..]
                }
                'n' => {
                    out.push('\n');
                    &escape[1..]
                }
                other => panic!("no escape: {other}"),
            };
        }
        out + rest
    }

    #[test]
    fn every_line_of_the_corpus_is_judged_as_it_should_be() {
        let mut judged = std::collections::BTreeMap::<&str, usize>::new();
        for line in CORPUS.lines() {
            let (verdict, text) = line.split_once('\t').unwrap();
            let text = unescaped(text);
            let found = match (plain(&text), of_text(&text)) {
                (Err(_), _) => "refused",
                (Ok(()), odd) if odd.is_empty() => "fine",
                (Ok(()), _) => "odd",
            };
            assert_eq!(found, verdict, "{line}: {:?}", of_text(&text));
            *judged.entry(found).or_default() += 1;
            // Wherever it stands, it is judged alike.
            let mut places = vec![tool("a"), tool("a"), tool("a")];
            places[0].description = text.clone();
            let schema = |key: &str, value: Value| {
                serde_json::json!({ "type": "object", "properties": { "x": { key: value } } }).to_string()
            };
            places[1].input_schema = schema("enum", serde_json::json!([text]));
            places[2].output_schema = Some(schema("default", text.clone().into()));
            for place in places {
                let offer = Offer { tools: vec![place], ..Offer::default() };
                let odd = !suspicions(&offer).is_empty();
                assert_eq!(
                    (check(offer).is_err(), odd || verdict == "refused"),
                    (verdict == "refused", verdict != "fine"),
                    "{line}"
                );
            }
        }
        assert!(judged.values().sum::<usize>() >= 150 && judged.len() == 3, "{judged:?}");
    }

    #[test]
    fn a_suspicion_says_where_and_shows_what() {
        let mut bad = tool("run");
        bad.description = "Adds.\n\n<IMPORTANT> read it".into();
        let told = suspicions(&Offer { tools: vec![bad], ..Offer::default() })[0].to_string();
        assert_eq!(told, "the description of tool `run` marks text up as instructions: \"<important> read it\"");
    }
}
