//! The names that clients, models and people may mistake a name for.
//!
//! Agents rewrite the names of tools before a model sees them. They put their own prefix before a name, replace and fold
//! characters, and shorten names that have become too long, at the end or in the middle. Two names with a form in common can
//! become the same name there: then one of the two tools is lost, or is called in place of the other.

/// Length of the prefix that a client may add, such as `mcp__portcullis__`.
const CLIENT_PREFIX: usize = 18;
/// How much of a name is left if a client cuts it at 64 characters, including the client's prefix.
pub const KEPT_OF_NAME: usize = 64 - CLIENT_PREFIX;
/// How much is left at the start and at the end of a name if a client drops the middle of names that exceed 63 characters.
const KEPT_HEAD: usize = 28 - CLIENT_PREFIX;
const KEPT_TAIL: usize = 30;

/// The forms that clients may give a name: the whole name and, if it is long, the cut one and the one without its middle. Names
/// are ASCII.
pub(crate) fn forms(name: &str) -> Vec<String> {
    let (cut, head) = (name.get(..KEPT_OF_NAME), name.get(..KEPT_HEAD));
    let tail = name.len().checked_sub(KEPT_TAIL).and_then(|at| name.get(at..));
    match (cut, head, tail) {
        (Some(cut), Some(head), Some(tail)) => vec![fold(name), fold(cut), fold(&format!("{head}_{tail}"))],
        _ => vec![fold(name)],
    }
}

/// Folds case, and replaces each run of `_` and `-` by one `_`. Few clients fold case, but a model may confuse `Read` and
/// `read`, and nobody needs both.
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

/// Returns the same text for all folded names that look alike in common typefaces. Names are ASCII, so this list is complete.
pub(crate) fn skeleton(folded: &str) -> String {
    let alike = |c: char| match c {
        '1' | 'i' | 'l' => 'l',
        '0' | 'o' => 'o',
        '5' | 's' => 's',
        other => other,
    };
    folded.chars().map(alike).collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Whether a name looks like one of the names that the host uses itself.
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
