//! Yes or no, as people type it.

/// None if it is neither.
pub(in crate::cli) fn parse_yes_no(input: &str) -> Option<bool> {
    match input.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}
