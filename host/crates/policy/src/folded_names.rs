//! What clients, models and people may take a name for.
//!
//! Agents rewrite the names of tools before a model sees them. They put a prefix of their own before a name, replace and
//! fold characters, and shorten what has become too long, at its end or in its middle. Two names with a form in common
//! can become one there: one of the two tools is lost, or called in place of the other.

/// Characters that a client's own prefix may have, such as `mcp__portcullis__`.
const CLIENT_PREFIX: usize = 18;
/// What is left of a name by clients that cut it, their prefix included, at 64 characters.
pub const KEPT_OF_NAME: usize = 64 - CLIENT_PREFIX;
/// What is left at both ends by clients that leave out the middle of more than 63 characters.
const KEPT_HEAD: usize = 28 - CLIENT_PREFIX;
const KEPT_TAIL: usize = 30;

/// The forms that clients may give a name: whole, and if it is long, cut and without its middle. Names are ASCII.
pub(crate) fn forms(name: &str) -> Vec<String> {
    let (cut, head) = (name.get(..KEPT_OF_NAME), name.get(..KEPT_HEAD));
    let tail = name.len().checked_sub(KEPT_TAIL).and_then(|at| name.get(at..));
    match (cut, head, tail) {
        (Some(cut), Some(head), Some(tail)) => vec![fold(name), fold(cut), fold(&format!("{head}_{tail}"))],
        _ => vec![fold(name)],
    }
}

/// Folds case, and each run of `_` and `-` to one `_`. Case, although few clients fold it: a model does not keep `Read`
/// and `read` apart either, and nobody needs both.
fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' | '-' if folded.ends_with('_') => {}
            '_' | '-' => folded.push('_'),
            _ => folded.push(c.to_ascii_lowercase()),
        }
    }
    folded.trim_matches('_').to_owned()
}

/// The same text for all folded names that look alike in common typefaces. Names are ASCII, so this list is complete.
pub(crate) fn skeleton(folded: &str) -> String {
    let alike = |c: char| match c {
        '1' | 'i' | 'l' => 'l',
        '0' | 'o' => 'o',
        '5' | 's' => 's',
        other => other,
    };
    folded.chars().map(alike).collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Whether a name looks like one of the host's own.
pub fn looks_like_host(name: &str) -> bool {
    skeleton(&fold(name)).starts_with(&skeleton("portcullis"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_become_one(one: &str, other: &str) -> bool {
        forms(one).iter().any(|form| forms(other).contains(form))
    }

    #[test]
    fn names_that_clients_turn_into_one_have_a_form_in_common() {
        let long = |head: &str, middle: &str, tail: &str| format!("{head}{middle}{tail}");
        let (x, y) = ("x".repeat(46), "y".repeat(30));
        for (one, other) in [
            ("read_file", "read-file"),
            ("read_file", "Read_File"),
            ("a__b_c", "a_b__c"),
            ("read_", "read"),
            (&long(&x, "", "one"), &long(&x, "", "other")),
            (&long(&x, "", "one"), x.as_str()),
            (&long("calendar__", "add_to_the_", &y), &long("calendar__", "take_away_from_the_", &y)),
        ] {
            assert!(may_become_one(one, other), "{one} {other}");
        }
        let tail = "_a_thing_in_the_calendar_of_everybody";
        for (one, other) in [
            ("read_file", "read_files"),
            ("readfile", "read_file"),
            ("get_1", "get_l"),
            (&long("c__", &"x".repeat(42), "a"), &long("c__", &"x".repeat(42), "b")),
            (&long("c__add", "", tail), &long("c__move", "", tail)),
        ] {
            assert!(!may_become_one(one, other), "{one} {other}");
        }
    }

    #[test]
    fn names_that_look_alike_have_the_same_skeleton() {
        let of = |name: &str| skeleton(&fold(name));
        for (one, other) in [
            ("read_file", "read_fi1e"),
            ("read_file", "read_fiIe"),
            ("go", "g0"),
            ("turn", "tum"),
            ("view", "vievv"),
            ("users", "u5ers"),
        ] {
            assert_eq!(of(one), of(other));
        }
        for (one, other) in [("read_file", "read_files"), ("readfile", "read_file"), ("add", "odd")] {
            assert_ne!(of(one), of(other));
        }
        assert!(looks_like_host("portcullis_update") && looks_like_host("P0RTCU11IS") && !looks_like_host("port"));
    }
}
