//! Taking a request apart.

use portcullis_guest::ToolError;

/// Parts of one request. What a person would ask at once, and far from the limit on reverse calls.
const MOST: usize = 32;

/// The parts, in their order: lines, and what ends with `;` or `?`, without numbers and bullets in front.
pub(crate) fn of(request: &str) -> Result<Vec<String>, ToolError> {
    let pieces = request.split_inclusive(['\n', ';', '?']).map(part).filter(|part| !part.is_empty());
    let parts: Vec<String> = pieces.collect();
    match parts.len() {
        0 => Err(ToolError::invalid("the request says nothing")),
        1..=MOST => Ok(parts),
        many => Err(ToolError::invalid(format_args!("the request has {many} parts, at most {MOST} are possible"))),
    }
}

fn part(piece: &str) -> String {
    let words = piece.trim().trim_end_matches(';').trim_start_matches(['-', '*', '•']).trim();
    let number = words.split_once(['.', ')']).filter(|(number, _)| number.parse::<u8>().is_ok());
    let words = number.map_or(words, |(_, words)| words.trim());
    // A question mark alone, as after another one, asks nothing.
    if words.chars().any(char::is_alphanumeric) { words.to_owned() } else { String::new() }
}
