//! A model that acts as written: for scripts and tests, and to show what a real one could do at each step.

use super::Item;

/// Steps of one script. Bounds the work of each item.
const MAX_STEPS: usize = 1_000;

/// What a model wants at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Something is said to a running call.
    Steer(u64, String),
    /// A running call is stopped.
    Cancel(u64),
}

/// Reads what has happened and acts. A real model would be behind this, too.
pub trait Model: Send {
    /// What to do after these items.
    fn step(&mut self, items: &[Item]) -> Vec<Act>;
}

/// Follows its script: each step once, as soon as a running call says the words it waits for.
#[derive(Debug, Clone, Default)]
pub struct ScriptedModel {
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
struct Step {
    words: String,
    act: Wanted,
}

#[derive(Debug, Clone)]
enum Wanted {
    Steer(String),
    Cancel,
}

/// A script that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no step: write `\"WORDS\" steer TEXT` or `\"WORDS\" cancel`")]
pub struct ScriptError(String);

impl ScriptedModel {
    /// Adds a step, such as `"chapter 2" steer make it a comedy`.
    pub fn add(&mut self, text: &str) -> Result<(), ScriptError> {
        let fail = || ScriptError(text.to_owned());
        let (words, act) = text.trim().strip_prefix('"').and_then(|rest| rest.split_once('"')).ok_or_else(fail)?;
        let act = match act.trim().split_once(char::is_whitespace) {
            Some(("steer", message)) => Wanted::Steer(message.trim().to_owned()),
            None if act.trim() == "cancel" => Wanted::Cancel,
            _ => return Err(fail()),
        };
        if words.is_empty() || self.steps.len() >= MAX_STEPS {
            return Err(fail());
        }
        self.steps.push(Step { words: words.to_owned(), act });
        Ok(())
    }

    /// Whether there is nothing left to wait for.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Model for ScriptedModel {
    fn step(&mut self, items: &[Item]) -> Vec<Act> {
        let mut acts = Vec::new();
        for item in items {
            let Item::Interim { call, text, .. } = item else { continue };
            self.steps.retain(|step| {
                let heard = text.contains(&step.words);
                if heard {
                    acts.push(match &step.act {
                        Wanted::Steer(message) => Act::Steer(*call, message.clone()),
                        Wanted::Cancel => Act::Cancel(*call),
                    });
                }
                !heard
            });
        }
        acts
    }
}
