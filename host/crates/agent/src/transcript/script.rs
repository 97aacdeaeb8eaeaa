//! A model that follows a script: for tests, and as an example of what a real model can do at each step.

use super::item::TranscriptItem;

/// Steps of one script. Bounds the work of each item.
const MAX_STEPS: usize = 1_000;

/// An action of the model on a running call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelAction {
    /// Sends a message to the call.
    Steer(u64, String),
    Cancel(u64),
}

/// A model that reads the transcript and acts.
pub trait AgentModel: Send {
    /// Reads new items and returns the actions to take.
    fn step(&mut self, items: &[TranscriptItem]) -> Vec<ModelAction>;
}

/// Follows a script. Each step runs once, when a running call's chunk contains the step's phrase.
#[derive(Debug, Clone, Default)]
pub struct ScriptedModel {
    steps: Vec<ScriptStep>,
}

#[derive(Debug, Clone)]
struct ScriptStep {
    phrase: String,
    action: ScriptAction,
}

#[derive(Debug, Clone)]
enum ScriptAction {
    Steer(String),
    Cancel,
}

/// A malformed script step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a step: write `\"WORDS\" steer TEXT` or `\"WORDS\" cancel`")]
pub struct ScriptError(String);

impl ScriptedModel {
    /// Adds a step, such as `"chapter 2" steer make it a comedy`.
    pub fn add(&mut self, text: &str) -> Result<(), ScriptError> {
        let fail = || ScriptError(text.to_owned());
        let (phrase, action) = text.trim().strip_prefix('"').and_then(|rest| rest.split_once('"')).ok_or_else(fail)?;
        let action = match action.trim().split_once(char::is_whitespace) {
            Some(("steer", message)) => ScriptAction::Steer(message.trim().to_owned()),
            None if action.trim() == "cancel" => ScriptAction::Cancel,
            _ => return Err(fail()),
        };
        if phrase.is_empty() || self.steps.len() >= MAX_STEPS {
            return Err(fail());
        }
        self.steps.push(ScriptStep { phrase: phrase.to_owned(), action });
        Ok(())
    }

    /// Whether all steps have run.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty()
    }
}

impl AgentModel for ScriptedModel {
    fn step(&mut self, items: &[TranscriptItem]) -> Vec<ModelAction> {
        let mut actions = Vec::new();
        for item in items {
            let TranscriptItem::Chunks { call, text, .. } = item else { continue };
            self.steps.retain(|step| {
                let matches = text.contains(&step.phrase);
                if matches {
                    actions.push(match &step.action {
                        ScriptAction::Steer(message) => ModelAction::Steer(*call, message.clone()),
                        ScriptAction::Cancel => ModelAction::Cancel(*call),
                    });
                }
                !matches
            });
        }
        actions
    }
}
