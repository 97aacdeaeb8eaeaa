//! Rules in a file that decide in the user's place. The first rule that matches decides; without a match the user is asked.

mod decide;
mod parse;
mod rule;

pub use decide::Rules;
pub use parse::RulesError;
pub use rule::{AgentRule, FormRule, PageRule, RuleMatch, SamplingReview};

#[cfg(test)]
mod tests;
