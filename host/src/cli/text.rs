//! Text from outside, made safe for a terminal.

use platform::telemetry::printable;
use policy::is_name;
use runtime::imports::{Content, ContentData};

/// Escapes everything that could control the terminal, except line breaks.
pub(super) fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Prints an error to stderr.
pub fn print_error(text: &str) {
    let style = clap::builder::Styles::styled().get_error().to_owned();
    // Compilers indent by tabs, which would be shown as `\t`.
    let text = text.replace('\t', "    ");
    anstream::eprintln!("{style}error:{style:#} {}", printable_lines(&without_codes(&text)));
}

/// Removes the error numbers that the standard library adds to messages of the system.
pub(super) fn without_codes(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Quotes a text as one shell word.
pub(super) fn shell_quote(text: &str) -> String {
    if is_name(text, usize::MAX, "-_./:@=+,") {
        return text.to_owned();
    }
    format!("'{}'", printable(text).replace('\'', r"'\''"))
}

/// What is wrong with a JSON text, with the line and a mark under the place.
pub(super) fn json_error(text: &str, error: &serde_json::Error) -> String {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    // Columns count bytes, from one; the end of the text is one beyond.
    let before = &line[..line.floor_char_boundary(error.column().saturating_sub(1).min(line.len()))];
    let (shown, indent) = (printable(line), printable(before).chars().count());
    format!("this is not JSON, in line {}: {reason}\n  {shown}\n  {:indent$}^", error.line().max(1), "")
}

/// Content as text. Other content than text is shown by its type and size.
pub(super) fn content_to_text(content: &Content) -> String {
    match &content.data {
        ContentData::Text(text) => printable_lines(text),
        ContentData::Image(blob) | ContentData::Audio(blob) => {
            format!("[{}, {} bytes]", printable(&blob.mime_type), blob.data.len())
        }
        ContentData::ResourceLink(link) => format!("[{}]", printable(&link.uri)),
        ContentData::Resource(resource) => format!("[{}]", printable(&resource.uri)),
    }
}

/// `1234567` as `1_234_567`.
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_one_word() {
        assert_eq!(shell_quote("env = [\"TZ\"]"), "'env = [\"TZ\"]'");
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote("./a.wasm"), "./a.wasm");
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 12, 123, 1234, 1234567].map(group_digits), ["0", "12", "123", "1_234", "1_234_567"]);
    }
}
