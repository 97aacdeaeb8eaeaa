//! Finds texts of a plugin that may be meant to manipulate a model. This is only a hint for a reviewer: an attacker can
//! reword anything, so nothing is refused for it. The protection is that what is served is what was reviewed.

mod phrases;

use phrases::PHRASES;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use runtime::imports::Offer;
use serde_json::Value;

/// Suspicions of one plugin. Bounds what a review prints.
const MAX_SUSPICIONS: usize = 64;
/// Characters of a text that are shown.
const EXCERPT_CHARS: usize = 60;
/// A run of this many letters and digits is data, not a word.
const BLOB_LEN: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct Suspicion {
    /// The text it is in, such as ``description of tool `run` ``.
    pub subject: String,
    /// What the passage seems to do.
    pub reason: &'static str,
    pub passage: String,
}

impl std::fmt::Display for Suspicion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} {}: \"{}\"", self.subject, self.reason, printable(&self.passage))
    }
}

/// Looks at all texts of an offer, those inside schemas included.
pub fn find_suspicions(offer: &Offer) -> Vec<Suspicion> {
    let mut texts = titles_and_descriptions(offer);
    for tool in &offer.tools {
        for (which, schema) in [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())] {
            if let Some(Ok(schema)) = schema.map(|schema| serde_json::from_str::<Value>(schema)) {
                add_strings(&schema, &format!("{which} schema of tool `{}`", tool.name), &mut texts);
            }
        }
    }
    let suspicions = texts.iter().flat_map(|(subject, text)| {
        let found = find_in_text(text).into_iter();
        found.map(|(reason, passage)| Suspicion { subject: subject.clone(), reason, passage })
    });
    suspicions.take(MAX_SUSPICIONS).collect()
}

/// Titles and descriptions, each with a text that names what it describes.
pub(super) fn titles_and_descriptions(offer: &Offer) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut add = |part: &str, subject: String, text: Option<&String>| {
        if let Some(text) = text {
            texts.push((format!("{part} of {subject}"), text.clone()));
        }
    };
    for tool in &offer.tools {
        let subject = || format!("tool `{}`", tool.name);
        add("title", subject(), tool.title.as_ref());
        add("description", subject(), Some(&tool.description));
    }
    for resource in &offer.resources {
        let subject = || format!("resource `{}`", resource.uri);
        add("title", subject(), resource.title.as_ref());
        add("description", subject(), resource.description.as_ref());
    }
    for template in &offer.templates {
        let subject = || format!("resource template `{}`", template.uri_template);
        add("title", subject(), template.title.as_ref());
        add("description", subject(), template.description.as_ref());
    }
    for prompt in &offer.prompts {
        let subject = || format!("prompt `{}`", prompt.name);
        add("title", subject(), prompt.title.as_ref());
        add("description", subject(), prompt.description.as_ref());
        for argument in &prompt.arguments {
            let subject = || format!("argument `{}` of {}", argument.name, subject());
            add("title", subject(), argument.title.as_ref());
            add("description", subject(), argument.description.as_ref());
        }
    }
    texts
}

fn add_strings(value: &Value, subject: &str, texts: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => texts.push((subject.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, subject, texts)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            texts.push((subject.to_owned(), key.clone()));
            add_strings(member, subject, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first passage of a text for each reason.
fn find_in_text(text: &str) -> Vec<(&'static str, String)> {
    let normalized = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().replace('’', "'");
    let around = |at: usize| truncate_chars(&normalized[at..], EXCERPT_CHARS).to_owned();
    let mut found: Vec<(&'static str, String)> = PHRASES
        .iter()
        .filter_map(|(reason, phrases)| {
            Some((*reason, around(phrases.iter().find_map(|phrase| normalized.find(phrase))?)))
        })
        .collect();
    let mut check_words = |reason, is_suspicious: fn(&str) -> bool| {
        if let Some(word) = text.split_whitespace().find(|word| is_suspicious(word)) {
            found.push((reason, truncate_chars(word, EXCERPT_CHARS).to_owned()));
        }
    };
    check_words("holds what only a program can read", is_blob);
    check_words("mixes alphabets in a word", mixes_alphabets);
    check_words("is written in letters that only look like letters", |word| word.chars().any(is_stylized_letter));
    if text.contains("\n\n\n\n") || text.contains(&" ".repeat(24)) {
        found.push(("leaves so much room that what follows is out of sight", String::new()));
    }
    found
}

/// Whether a word holds base64 or hexadecimal data.
fn is_blob(word: &str) -> bool {
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_'));
    word.split(is_separator).any(|run| {
        let has = |class: fn(&char) -> bool| run.chars().any(|c| class(&c));
        run.len() >= BLOB_LEN && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
    })
}

fn mixes_alphabets(word: &str) -> bool {
    let any = |class: fn(char) -> bool| word.chars().any(class);
    let latin = any(|c| c.is_ascii_alphabetic());
    // Cyrillic, and the Greek letters that pass for Latin. Not `Ω` and `µ`, which are parts of units.
    latin
        && any(
            |c| matches!(c, '\u{400}'..='\u{52f}' | '\u{391}'..='\u{3a8}' | '\u{3b1}'..='\u{3bb}' | '\u{3bd}'..='\u{3c9}'),
        )
}

/// Full-width, mathematical and circled letters, and ligatures.
fn is_stylized_letter(c: char) -> bool {
    matches!(c, '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{fb00}'..='\u{fb06}')
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::super::testing::tool;
    use super::super::text::check_text;
    use super::*;

    /// Each line is `refused`, `odd` or `fine`, a tab, and a text with escapes as in Rust.
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
    fn corpus_verdicts_match() {
        let mut judged = std::collections::BTreeMap::<&str, usize>::new();
        for line in CORPUS.lines() {
            let (verdict, text) = line.split_once('\t').unwrap();
            let text = unescaped(text);
            let found = match (check_text(&text), find_in_text(&text)) {
                (Err(_), _) => "refused",
                (Ok(()), found) if found.is_empty() => "fine",
                (Ok(()), _) => "odd",
            };
            assert_eq!(found, verdict, "{line}: {:?}", find_in_text(&text));
            *judged.entry(found).or_default() += 1;
            // The verdict is the same wherever the text is.
            let mut tools = vec![tool("a"), tool("a"), tool("a")];
            tools[0].description = text.clone();
            let schema = |key: &str, value: Value| {
                serde_json::json!({ "type": "object", "properties": { "x": { key: value } } }).to_string()
            };
            tools[1].input_schema = schema("enum", serde_json::json!([text]));
            tools[2].output_schema = Some(schema("default", text.clone().into()));
            for tool in tools {
                let offer = Offer { tools: vec![tool], ..Offer::default() };
                let odd = !find_suspicions(&offer).is_empty();
                assert_eq!(
                    (check(offer).is_err(), odd || verdict == "refused"),
                    (verdict == "refused", verdict != "fine"),
                    "{line}"
                );
            }
        }
        assert!(judged.values().sum::<usize>() >= 150 && judged.len() == 3, "{judged:?}");
    }

    /// The phrases were chosen with these lines in view, so other words for the same instructions pass unmarked. In any case a
    /// reviewer sees every text, and what is served is what was reviewed.
    #[test]
    fn instructions_are_marked_and_ordinary_lines_are_not() {
        let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with("# ")).collect::<Vec<_>>();
        let is_marked = |line: &&str| check_text(line).is_err() || !find_in_text(line).is_empty();
        let rate = |lines: &[&str]| lines.iter().filter(|line| is_marked(line)).count();
        let instructions = lines(include_str!("suspicion/instructions.txt"));
        let ordinary = lines(include_str!("suspicion/ordinary.txt"));
        let (marked, wrongly) = (rate(&instructions), rate(&ordinary));
        eprintln!(
            "hostile: instructions: {} % of {} lines marked, and {wrongly} of {} ordinary ones",
            marked * 100 / instructions.len(),
            instructions.len(),
            ordinary.len()
        );
        assert!(instructions.len() >= 150 && ordinary.len() >= 100);
        let passed: Vec<_> = instructions.iter().filter(|line| !is_marked(line)).collect();
        assert!(marked * 100 >= 95 * instructions.len(), "not marked: {passed:#?}");
        let marked: Vec<_> = ordinary.iter().filter(|line| is_marked(line)).collect();
        assert!(wrongly * 100 <= 3 * ordinary.len(), "marked: {marked:#?}");
    }

    #[test]
    fn a_suspicion_names_the_text_and_shows_the_passage() {
        let mut bad = tool("run");
        bad.description = "Adds.\n\n<IMPORTANT> read it".into();
        let shown = find_suspicions(&Offer { tools: vec![bad], ..Offer::default() })[0].to_string();
        assert_eq!(shown, "the description of tool `run` marks text up as instructions: \"<important> read it\"");
    }
}
