//! Text of refusals and of exceeded budgets.

use std::fmt;

use crate::{Budget, Denial, Exhaustion};

impl Denial {
    /// A refusal without a remedy: the host adds one, because it knows the configuration line.
    pub fn new(capability: impl Into<String>, target: impl Into<String>) -> Self {
        Self { capability: capability.into(), target: target.into(), remedy: String::new() }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not allow `{}`", self.capability, self.target)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, ". {}", self.remedy) }
    }
}

impl std::error::Error for Denial {}

impl fmt::Display for Exhaustion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = match self.budget {
            Budget::Fuel => ("fuel", ""),
            Budget::Cpu => ("CPU time", " ms"),
            Budget::Deadline => ("time", " ms"),
            Budget::Memory => ("memory", " bytes"),
            Budget::Output => ("output", " bytes"),
            Budget::Chunks => ("output", " chunks"),
            Budget::Calls => ("calls of agent tools", " calls"),
            Budget::Depth => ("nesting of calls", " levels"),
            Budget::Arguments => ("arguments", " bytes"),
            Budget::Results => ("results of agent tools", " bytes"),
            Budget::Waiting => ("waiting for agent tools", " ms"),
            Budget::Questions => ("questions to the client", " questions"),
            Budget::Tokens => ("what a model may write", " tokens"),
            Budget::Stored => ("what may be stored", ""),
        };
        write!(f, "the limit on {what} is reached: {}{unit}", self.limit)
    }
}

impl std::error::Error for Exhaustion {}
