//! Remarks about a policy, with the lines that they are about.

#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// What the policy allows or sets that is not carried over to the plugin.
    pub(super) left_out: Vec<String>,
    /// What is worth knowing.
    pub(super) notes: Vec<String>,
}

impl Remarks {
    pub(super) fn leave_out(&mut self, line: usize, what: impl std::fmt::Display) {
        self.left_out.push(format!("line {line}: {what}"));
    }

    pub(super) fn note(&mut self, line: usize, what: impl std::fmt::Display) {
        self.notes.push(format!("line {line}: {what}"));
    }
}
