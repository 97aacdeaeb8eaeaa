//! Names that a person or a model may confuse.

/// The same text for all names that look alike: folds case and characters that look alike in common typefaces. Names are
/// ASCII, so this list is complete.
pub(super) fn skeleton(name: &str) -> String {
    let fold = |c: char| match c.to_ascii_lowercase() {
        '1' | 'i' | 'l' => 'l',
        '0' | 'o' => 'o',
        '5' | 's' => 's',
        '-' => '_',
        other => other,
    };
    name.chars().map(fold).collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Whether a name looks like one of the host's own.
pub(super) fn looks_like_host(name: &str) -> bool {
    skeleton(name).starts_with(&skeleton("portcullis"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_have_the_same_skeleton() {
        for (one, other) in [
            ("read_file", "read-file"),
            ("read_file", "Read_File"),
            ("read_file", "read_fi1e"),
            ("read_file", "read_fiIe"),
            ("go", "g0"),
            ("turn", "tum"),
            ("view", "vievv"),
            ("users", "u5ers"),
        ] {
            assert_eq!(skeleton(one), skeleton(other));
        }
        for (one, other) in [("read_file", "read_files"), ("readfile", "read_file"), ("add", "odd"), ("a__b", "a_b")] {
            assert_ne!(skeleton(one), skeleton(other));
        }
        assert!(looks_like_host("portcullis_update") && looks_like_host("P0RTCU11IS") && !looks_like_host("port"));
    }
}
