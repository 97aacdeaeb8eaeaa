//! Runs and records many attempts at forbidden actions.

use crate::{Outcome, failed, raw};

/// The attempts and their outcomes.
#[derive(Default)]
pub struct Attempts {
    succeeded: Vec<String>,
    refused: Vec<String>,
}

impl Attempts {
    /// Records one attempt.
    pub fn note<T: std::fmt::Debug, E: std::fmt::Display>(&mut self, what: &str, outcome: Result<T, E>) {
        match outcome {
            Ok(value) => self.succeeded.push(format!("{what} gave {value:?}")),
            Err(error) => self.refused.push(format!("{what}: {error}")),
        }
    }

    /// Tries to read a file in every possible way.
    pub fn read(&mut self, path: &str) {
        self.note(path, std::fs::read_to_string(path));
        let inside = path.strip_prefix("/work/").unwrap_or(path);
        self.note(&format!("{inside} (followed)"), raw::read(inside, true));
        self.note(&format!("{inside} (not followed)"), raw::read(inside, false));
    }

    /// Tries to list a directory in every possible way.
    pub fn list(&mut self, path: &str) {
        self.note(path, std::fs::read_dir(path).map(Iterator::count));
        let inside = path.strip_prefix("/work/").unwrap_or(path);
        self.note(&format!("{inside} (followed)"), raw::list(inside, true));
        self.note(&format!("{inside} (not followed)"), raw::list(inside, false));
    }

    /// A result if any attempt succeeded, otherwise the tool's failure.
    pub fn outcome(self) -> Outcome {
        if self.succeeded.is_empty() {
            return Err(failed(format!("all refused: {}", self.refused.join("; "))));
        }
        Ok(format!("SUCCEEDED: {}", self.succeeded.join("; ")).into())
    }
}
