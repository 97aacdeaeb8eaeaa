//! URI templates of RFC 6570 with simple expansion only (`notes://{id}/text`): which URIs match a template, and whether two
//! templates could match the same URI.

use super::uri::{self, is_unreserved};
use platform::text::truncate_chars;
use std::collections::HashSet;

/// Bytes of a template. Bounds the work of comparing it with others.
const MAX_TEMPLATE: usize = 256;
const MAX_VARIABLES: usize = 8;
/// Bytes of the name of a variable.
const MAX_VARIABLE_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(Vec<u8>),
    Variable(String),
}

impl UriTemplate {
    /// The error says what is wrong with the template.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEMPLATE {
            return Err(format!("is {} bytes, more than {MAX_TEMPLATE}", text.len()));
        }
        let mut parts = Vec::new();
        let mut names = HashSet::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(opened) = rest.strip_prefix('{') {
                let (name, after) = opened.split_once('}').ok_or("has a `{` without `}`")?;
                if !is_name(name) {
                    return Err(format!(
                        "has `{{{}}}`, which is no simple variable such as `{{city}}`",
                        shortened(name)
                    ));
                }
                if matches!(parts.last(), Some(Part::Variable(_))) {
                    return Err("has two variables side by side, so nothing tells where the first one ends".into());
                }
                if !names.insert(name) {
                    return Err(format!("has the variable `{name}` twice"));
                }
                parts.push(Part::Variable(name.to_owned()));
                rest = after;
            } else {
                let (literal, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
                parts.push(Part::Literal(literal.as_bytes().to_vec()));
                rest = after;
            }
        }
        if names.is_empty() {
            return Err("has no variable; offer it as a resource".into());
        }
        if names.len() > MAX_VARIABLES {
            return Err(format!("has {} variables, more than {MAX_VARIABLES}", names.len()));
        }
        uri::check_scheme(text)?;
        let template = Self { parts };
        // With values for its variables, it must be a URI.
        uri::check(&template.example())?;
        Ok(template)
    }

    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    fn example(&self) -> String {
        let part = |part: &Part| match part {
            Part::Literal(text) => String::from_utf8_lossy(text).into_owned(),
            Part::Variable(_) => "x".to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    /// Whether the URI is an expansion of the template in which no variable is empty.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        let mut rest = uri.as_bytes();
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match (part, parts.peek()) {
                (Part::Literal(text), _) => match rest.strip_prefix(text.as_slice()) {
                    Some(after) => rest = after,
                    None => return false,
                },
                (Part::Variable(_), None) => return is_value(rest),
                // The last literal must be at the end of the URI. An earlier one may be taken at its first occurrence:
                // whatever a later occurrence would add to this variable, the next variable can take instead.
                (Part::Variable(_), Some(Part::Literal(next))) => {
                    let last = parts.len() == 1;
                    let at = if last { rest.len().checked_sub(next.len()) } else { find(rest, next, 1) };
                    match at {
                        Some(at) if is_value(&rest[..at]) => rest = &rest[at..],
                        _ => return false,
                    }
                }
                (Part::Variable(_), Some(Part::Variable(_))) => return false,
            }
        }
        rest.is_empty()
    }

    /// Whether some URI matches both templates: walks both at once, as finite automata.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.steps(), other.steps());
        let mut seen = HashSet::new();
        let mut pending = vec![(0, 0)];
        while let Some((a, b)) = pending.pop() {
            if !seen.insert((a, b)) {
                continue;
            }
            match (mine.get(a), theirs.get(b)) {
                (None, None) => return true,
                (Some(x), Some(y)) if x.overlaps(*y) => {
                    // A variable that took a character may take another one or end.
                    pending.push((a + 1, b + 1));
                    if x.is_variable() {
                        pending.push((a, b + 1));
                    }
                    if y.is_variable() {
                        pending.push((a + 1, b));
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn steps(&self) -> Vec<Step> {
        let steps = |part: &Part| match part {
            Part::Literal(text) => text.iter().map(|byte| Step::Byte(*byte)).collect(),
            Part::Variable(_) => vec![Step::Variable],
        };
        self.parts.iter().flat_map(steps).collect()
    }
}

#[derive(Clone, Copy)]
enum Step {
    Byte(u8),
    Variable,
}

impl Step {
    fn is_variable(self) -> bool {
        matches!(self, Step::Variable)
    }

    /// Whether one character fits both.
    fn overlaps(self, other: Self) -> bool {
        let in_value = |byte| is_unreserved(byte) || byte == b'%';
        match (self, other) {
            (Step::Byte(a), Step::Byte(b)) => a == b,
            (Step::Byte(byte), Step::Variable) | (Step::Variable, Step::Byte(byte)) => in_value(byte),
            (Step::Variable, Step::Variable) => true,
        }
    }
}

/// Whether simple expansion can produce this text from a value that is not empty: unreserved characters and `%XX`.
fn is_value(text: &[u8]) -> bool {
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        let hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
        if !(is_unreserved(byte) || byte == b'%' && hex(rest.next()) && hex(rest.next())) {
            return false;
        }
    }
    !text.is_empty()
}

fn find(text: &[u8], part: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.windows(part.len()).position(|window| window == part).map(|at| at + from)
}

fn is_name(name: &str) -> bool {
    policy::is_name(name, MAX_VARIABLE_NAME, "_")
}

fn shortened(text: &str) -> String {
    truncate_chars(text, MAX_VARIABLE_NAME).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> UriTemplate {
        UriTemplate::parse(text).unwrap()
    }

    #[test]
    fn only_simple_expansion_is_accepted() {
        assert_eq!(template("w://{city}/x/{day}").variables().collect::<Vec<_>>(), ["city", "day"]);
        for bad in [
            "w://x",
            "w://{city",
            "w://{}",
            "w://{+city}",
            "w://{city*}",
            "w://{a,b}",
            "w://{a}{b}",
            "w://{a}/{a}",
            "{scheme}://x",
            "w:",
            "w://a b/{c}",
            "w://}/{c}",
            "portcullis://{x}",
            "W://{x}",
        ] {
            assert!(UriTemplate::parse(bad).is_err(), "{bad}");
        }
        assert!(UriTemplate::parse(&format!("w://{{a}}{}", "b".repeat(300))).is_err());
        let many: String = (0..9).map(|n| format!("/{{v{n}}}")).collect();
        assert!(UriTemplate::parse(&format!("w:{many}")).is_err());
    }

    #[test]
    fn a_variable_is_one_segment_and_never_empty() {
        let weather = template("w://{city}/today");
        for good in ["w://oslo/today", "w://s%C3%A3o/today", "w://a.b~c-d_e/today", "w://today/today"] {
            assert!(weather.matches(good), "{good}");
        }
        for bad in
            ["w:///today", "w://a/b/today", "w://oslo/todays", "w://oslo/", "x://oslo/today", "w://a%2/today", ""]
        {
            assert!(!weather.matches(bad), "{bad}");
        }
        let pair = template("p:{a}-{b}");
        assert!(pair.matches("p:1-2") && pair.matches("p:1-2-3") && pair.matches("p:--x"));
        assert!(!pair.matches("p:-1") && !pair.matches("p:1-") && !pair.matches("p:12"));
        assert!(template("p:{a}/x/{b}/x").matches("p:x/x/x/x"));
    }

    #[test]
    fn templates_overlap_when_a_uri_matches_both() {
        let overlap = |a: &str, b: &str| {
            assert_eq!(template(a).overlaps(&template(b)), template(b).overlaps(&template(a)));
            template(a).overlaps(&template(b))
        };
        assert!(overlap("n://{id}", "n://{other}"));
        assert!(overlap("n://{a}/b", "n://a/{b}"));
        assert!(overlap("n://{a}-{b}", "n://x{c}"));
        assert!(!overlap("n://{a}", "m://{a}"));
        assert!(!overlap("n://{a}/x", "n://{a}/y"));
        assert!(!overlap("n://{a}", "n://{a}/{b}"));
        assert!(!overlap("n://a{x}", "n://b{x}"));
    }
}
