//! Trying many ways to do what must not be done.

use crate::{Outcome, failed, raw};

/// What was tried, and how it went.
#[derive(Default)]
pub struct Attempts {
    succeeded: Vec<String>,
    refused: Vec<String>,
}

impl Attempts {
    /// Notes one attempt.
    pub fn note<T: std::fmt::Debug, E: std::fmt::Display>(&mut self, what: &str, outcome: Result<T, E>) {
        match outcome {
            Ok(value) => self.succeeded.push(format!("{what} gave {value:?}")),
            Err(error) => self.refused.push(format!("{what}: {error}")),
        }
    }

    /// Tries to read a file in every way there is.
    pub fn read(&mut self, path: &str) {
        self.note(path, std::fs::read_to_string(path));
        let inside = path.strip_prefix("/work/").unwrap_or(path);
        self.note(&format!("{inside} (followed)"), raw::read(inside, true));
        self.note(&format!("{inside} (not followed)"), raw::read(inside, false));
    }

    /// Tries to list a directory in every way there is.
    pub fn list(&mut self, path: &str) {
        self.note(path, std::fs::read_dir(path).map(Iterator::count));
        let inside = path.strip_prefix("/work/").unwrap_or(path);
        self.note(&format!("{inside} (followed)"), raw::list(inside, true));
        self.note(&format!("{inside} (not followed)"), raw::list(inside, false));
    }

    /// A result when anything succeeded, else the tool's failure.
    pub fn outcome(self) -> Outcome {
        if self.succeeded.is_empty() {
            return Err(failed(format!("all refused: {}", self.refused.join("; "))));
        }
        Ok(format!("SUCCEEDED: {}", self.succeeded.join("; ")).into())
    }
}
