//! Which calls of a program need the approval of its user.

use serde::Deserialize;

/// Which tools a program may call only after its user has approved. A program is written by a model, so nobody has seen its
/// calls before they are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalRule {
    Never,
    /// Tools that may destroy something.
    #[default]
    Destructive,
    /// All tools but those that only read.
    Writes,
    Always,
}

impl ApprovalRule {
    /// A hint that a tool does not give has its default in MCP: the tool writes, and is destructive.
    pub fn applies(self, read_only: Option<bool>, destructive: Option<bool>) -> bool {
        let writes = read_only != Some(true);
        match self {
            Self::Never => false,
            Self::Destructive => writes && destructive != Some(false),
            Self::Writes => writes,
            Self::Always => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_as_destructive() {
        let (yes, no) = (Some(true), Some(false));
        for (read_only, destructive, expected) in [
            (None, None, [false, true, true, true]),
            (no, yes, [false, true, true, true]),
            (no, no, [false, false, true, true]),
            (None, no, [false, false, true, true]),
            (yes, None, [false, false, false, true]),
            (yes, yes, [false, false, false, true]),
        ] {
            let rules = [ApprovalRule::Never, ApprovalRule::Destructive, ApprovalRule::Writes, ApprovalRule::Always];
            assert_eq!(
                rules.map(|rule| rule.applies(read_only, destructive)),
                expected,
                "{read_only:?} {destructive:?}"
            );
        }
    }
}
