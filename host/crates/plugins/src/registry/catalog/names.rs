//! Names that a person or a model takes for one another, and names that are the host's own.

/// What a name is taken for: capitals, and characters that look alike in common typefaces, are one. Names are ASCII, so
/// these are all there are.
pub(super) fn looks(name: &str) -> String {
    let one = |c: char| match c.to_ascii_lowercase() {
        '1' | 'i' | 'l' => 'l',
        '0' | 'o' => 'o',
        '5' | 's' => 's',
        '-' => '_',
        other => other,
    };
    name.chars().map(one).collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Whether a name looks as if the host itself offered it.
pub(super) fn is_the_hosts(name: &str) -> bool {
    looks(name).starts_with(&looks("portcullis"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_alike_is_one() {
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
            assert_eq!(looks(one), looks(other));
        }
        for (one, other) in [("read_file", "read_files"), ("readfile", "read_file"), ("add", "odd"), ("a__b", "a_b")] {
            assert_ne!(looks(one), looks(other));
        }
        assert!(is_the_hosts("portcullis_update") && is_the_hosts("P0RTCU11IS") && !is_the_hosts("port"));
    }
}
