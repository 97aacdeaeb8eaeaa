//! From a URL to a text.

use portcullis_guest::ToolError;
use portcullis_guest::http::{self, Response};

/// What is read when nobody says how much.
const DEFAULT: u32 = 200_000;
/// What is read at most: it has to fit into this plugin's memory twice.
const MOST: u32 = 8 << 20;
/// Elements whose content is no text of the page.
const SILENT: [&str; 5] = ["script", "style", "noscript", "template", "svg"];
/// Elements that begin a new line.
const LINES: [&str; 20] = [
    "address",
    "article",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "p",
    "pre",
    "section",
    "table",
    "tr",
];

pub(crate) fn text(url: &str, max_bytes: Option<u32>) -> Result<String, ToolError> {
    if !url.starts_with("https://") {
        return Err(ToolError::invalid("the URL must begin with https://"));
    }
    let most = max_bytes.unwrap_or(DEFAULT).min(MOST);
    let request = http::get(url).header("accept", "text/html, text/plain, application/json;q=0.9, */*;q=0.1");
    let response = request.max_body(most as usize).send()?.error_for_status()?;
    let text = match kind(&response)? {
        Kind::Html => without_markup(&response.text()),
        Kind::Plain => response.text().into_owned(),
    };
    let end = if response.truncated { format!("\n\n[the page goes on after {most} bytes]") } else { String::new() };
    Ok(format!("{}{end}", text.trim()))
}

enum Kind {
    Html,
    Plain,
}

fn kind(response: &Response) -> Result<Kind, ToolError> {
    let named = response.header("content-type").unwrap_or("text/plain").to_ascii_lowercase();
    let media = named.split(';').next().unwrap_or_default().trim();
    match media {
        "text/html" | "application/xhtml+xml" => Ok(Kind::Html),
        _ if media.starts_with("text/") || media.ends_with("json") || media.ends_with("xml") => Ok(Kind::Plain),
        _ => Err(ToolError::failed(format!("this is no text, but {}", printable(media)))),
    }
}

/// What another server wrote, fit to stand in a sentence.
fn printable(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic()).take(60).collect()
}

/// The words of a page: elements left out, the usual entities resolved, white space folded.
fn without_markup(html: &str) -> String {
    let (mut text, mut rest) = (String::new(), html);
    while let Some((before, after)) = rest.split_once('<') {
        push_words(&mut text, before);
        if let Some(after) = after.strip_prefix("!--") {
            rest = after.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let Some((tag, after)) = after.split_once('>') else { return text };
        rest = after;
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_lowercase();
        if SILENT.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            rest = past_end(rest, &name);
        }
        if LINES.contains(&name.as_str()) && !text.is_empty() && !text.ends_with('\n') {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
    }
    push_words(&mut text, rest);
    text
}

/// What comes after an element's end.
fn past_end<'a>(html: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    // Lower case changes no length here: only ASCII does.
    let found = html.to_ascii_lowercase().find(&end);
    found.and_then(|at| html[at..].split_once('>')).map_or("", |(_, rest)| rest)
}

fn push_words(text: &mut String, piece: &str) {
    let entities = [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let piece = entities.iter().fold(piece.to_owned(), |piece, (entity, c)| piece.replace(entity, c));
    let gap = |text: &String| !text.is_empty() && !text.ends_with([' ', '\n']);
    if piece.starts_with(char::is_whitespace) && gap(text) {
        text.push(' ');
    }
    text.push_str(&piece.split_whitespace().collect::<Vec<_>>().join(" "));
    if piece.ends_with(char::is_whitespace) && gap(text) {
        text.push(' ');
    }
}
