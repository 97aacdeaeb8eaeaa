//! The scenarios that a revision requires, from the suite's frozen lists.

/// The tested revisions, newest first.
pub(super) const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// The server scenarios of one revision.
pub(super) struct Requirements {
    pub(super) revision: &'static str,
    pub(super) required: Vec<String>,
    /// Also run, but the suite does not count them.
    pub(super) unscored: Vec<String>,
}

impl Requirements {
    /// Reads a file of the suite's `requirements/`. Supports only the part of YAML that these files use.
    pub(super) fn parse(revision: &'static str, text: &str) -> Self {
        let (mut required, mut unscored) = (Vec::new(), Vec::new());
        let (mut section, mut scenario) = ("", "");
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
                section = name;
            }
            let entry = line.trim_start();
            match section {
                "server" => required.extend(entry.strip_prefix("- ").map(str::to_owned)),
                "not_scored" => match entry.strip_prefix("- scenario: ") {
                    Some(name) => scenario = name,
                    None if entry == "leg: server" => unscored.push(scenario.to_owned()),
                    None => {}
                },
                _ => {}
            }
        }
        Self { revision, required, unscored }
    }

    /// All scenarios, with the required ones first.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.required.iter().chain(&self.unscored).map(String::as_str)
    }

    /// Keeps only one scenario.
    pub(super) fn keep(&mut self, only: &str) {
        self.required.retain(|name| name == only);
        self.unscored.retain(|name| name == only);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_server_leg_is_taken() {
        let text = "# words: of explanation\n\nserver:\n  - a\n  - b\n\nclient:\n  - c\n\nnot_scored:\n  - scenario: d\n    \
                    leg: client\n    reason: extension\n  - scenario: e\n    leg: server\n    reason: pending\n";
        let set = Requirements::parse("2026-07-28", text);
        assert_eq!(set.all().collect::<Vec<_>>(), ["a", "b", "e"]);
        assert_eq!(set.required.len(), 2);
    }
}
