//! The problems of a server's list, one sentence each: entries that are left out come first.

use crate::listed::list_kind::ListKind;
use crate::server_input::text::single_line;
use platform::text::truncate_with;

/// The most sentences about one list, in the log and for operators; the rest is counted. Bounds what a server can write there.
const MAX_TOLD: usize = 16;
/// Length of one sentence, in bytes; it quotes the server.
const MAX_SENTENCE: usize = 400;
/// Length of a quoted name, in bytes.
const MAX_QUOTED: usize = 80;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problems {
    kind: ListKind,
    lost: Sentences,
    warnings: Sentences,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Sentences {
    told: Vec<String>,
    more: usize,
}

impl Sentences {
    fn push(&mut self, sentence: &str) {
        match self.told.len() < MAX_TOLD {
            true => self.told.push(truncate_with(&single_line(sentence), MAX_SENTENCE, "…")),
            false => self.more += 1,
        }
    }
}

impl Problems {
    pub(crate) fn new(kind: ListKind) -> Self {
        Self { kind, lost: Sentences::default(), warnings: Sentences::default() }
    }

    /// An entry that is not used; its name is empty if it has none.
    pub(crate) fn lose(&mut self, name: &str, reason: &str) {
        let noun = self.kind.noun();
        self.lost.push(&match name {
            "" => format!("a {noun} is left out: {reason}"),
            name => format!("the {noun} `{}` is left out: {reason}", truncate_with(name, MAX_QUOTED, "…")),
        });
    }

    /// Adds, in front of all others, the sentence that some entries were left out without a look at them.
    pub(crate) fn cut(&mut self, sentence: String) {
        self.lost.told.insert(0, sentence);
    }

    pub(crate) fn warn(&mut self, sentence: &str) {
        self.warnings.push(sentence);
    }

    pub(crate) fn log(&self, server: &str) {
        let all = self.lost.told.iter().chain(&self.warnings.told);
        all.clone().take(MAX_TOLD).for_each(|problem| tracing::warn!(server, "{problem}"));
        let more = all.count().saturating_sub(MAX_TOLD) + self.lost.more + self.warnings.more;
        if more > 0 {
            tracing::warn!(server, more, "the server's list of {}s has further problems", self.kind.noun());
        }
    }

    /// What is lost, for operators.
    pub(crate) fn lost(&self) -> Vec<String> {
        let more = (self.lost.more > 0).then(|| format!("{} more {}s are left out", self.lost.more, self.kind.noun()));
        self.lost.told.iter().cloned().chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_comes_before_warnings_and_both_are_bounded() {
        let mut problems = Problems::new(ListKind::Tools);
        (0..100).for_each(|at| problems.warn(&format!("warning {at}")));
        assert!(problems.lost().is_empty());
        (0..20).for_each(|at| problems.lose(&format!("tool-{at}\n"), &"x".repeat(10_000)));
        problems.lose("", "it has no name");
        problems.cut("the server has too many tools; only 7 are used".into());
        let lost = problems.lost();
        assert_eq!(lost.len(), MAX_TOLD + 2);
        assert!(lost[0].contains("only 7 are used") && lost[1].starts_with("the tool `tool-0\\n` is left out: x"));
        assert_eq!(lost[MAX_TOLD + 1], "5 more tools are left out");
        assert!(lost.iter().all(|sentence| sentence.len() <= MAX_SENTENCE + 3), "{lost:?}");
        let warned = problems.lost.told.iter().chain(&problems.warnings.told).take(MAX_TOLD);
        assert!(warned.clone().all(|told| !told.contains("warning")), "{warned:?}");
    }
}
