//! A note as text: a heading, a line of tags when there are some, and the body.

use portcullis_guest::ToolError;

/// Longer file names are cut; with date and number they stay far below what file systems allow.
const LONGEST_SLUG: usize = 60;

const TAGS: &str = "Tags: ";

/// A note.
#[derive(Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) title: String,
    pub(crate) tags: Vec<String>,
    pub(crate) text: String,
}

impl Note {
    /// Makes a note of what a caller wrote. Line breaks in title and tags would break the format, so they become spaces.
    pub(crate) fn new(title: &str, text: &str, tags: &[String]) -> Result<Self, ToolError> {
        let title = one_line(title);
        if title.is_empty() {
            return Err(ToolError::invalid("the title is empty"));
        }
        let tags = tags.iter().map(|tag| one_line(&tag.replace(',', " "))).filter(|tag| !tag.is_empty()).collect();
        Ok(Self { title, tags, text: text.trim().to_owned() })
    }

    /// The file's content.
    pub(crate) fn to_markdown(&self) -> String {
        let tags = if self.tags.is_empty() { String::new() } else { format!("{TAGS}{}\n\n", self.tags.join(", ")) };
        format!("# {}\n\n{tags}{}\n", self.title, self.text)
    }

    /// Reads a file; `None` when it is not a note, such as one that is being written.
    pub(crate) fn from_markdown(markdown: &str) -> Option<Self> {
        let (title, rest) = markdown.strip_prefix("# ")?.split_once('\n')?;
        let rest = rest.trim_start_matches('\n');
        let (tags, text) = match rest.strip_prefix(TAGS) {
            Some(rest) => rest.split_once('\n').unwrap_or((rest, "")),
            None => ("", rest),
        };
        let tags = tags.split(", ").filter(|tag| !tag.is_empty()).map(ToOwned::to_owned).collect();
        Some(Self { title: title.trim().to_owned(), tags, text: text.trim().to_owned() })
    }

    /// The title as part of a file name: letters and digits of ASCII joined by `-`, so that it is safe everywhere.
    pub(crate) fn slug(&self) -> String {
        let mut slug = String::new();
        for c in self.title.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() == LONGEST_SLUG {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        if slug.is_empty() { "note".to_owned() } else { slug.to_owned() }
    }

    /// Whether every word occurs; the words are in lower case.
    pub(crate) fn contains_all(&self, words: &[String]) -> bool {
        let all = format!("{}\n{}\n{}", self.title, self.tags.join("\n"), self.text).to_lowercase();
        words.iter().all(|word| all.contains(word))
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
