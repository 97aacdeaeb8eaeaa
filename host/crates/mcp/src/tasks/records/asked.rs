//! The questions and tool calls of a task, as they are stored: another process that goes on with its call asks them under the
//! same keys, and does not ask again what was answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// Bytes of the answers that are stored. The oldest answers can be dropped, because those that the call has taken are in its
/// journal.
const MAX_ANSWERS: usize = 256 << 10;

/// All questions of a task, in the order in which they were asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::tasks) struct AskedQuestions(Vec<AskedQuestion>);

/// The kind of a request, which decides what may answer it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::tasks) enum AskedKind {
    #[default]
    Question,
    /// A call of a tool of its client.
    Call,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AskedQuestion {
    key: String,
    /// Records of earlier versions have questions only, and no such field.
    #[serde(default)]
    kind: AskedKind,
    /// The step that asks it, and the key that the question has in that step. Without a step, no later run asks it again.
    step: Option<String>,
    own: String,
    answer: Option<Value>,
    /// When the host gives up waiting for the answer, in milliseconds since 1970.
    #[serde(default)]
    expires: u64,
    /// When it was first asked, in milliseconds since 1970; 0 if an earlier version has asked it.
    #[serde(default)]
    asked: u64,
    /// An earlier run has asked it, and this one has not yet.
    #[serde(skip)]
    is_earlier: bool,
}

/// A question as a task asks it.
#[derive(Debug, PartialEq)]
pub(in crate::tasks) struct TaskQuestion {
    /// Its key in this task.
    pub(in crate::tasks) key: String,
    /// The answer that an earlier run has got.
    pub(in crate::tasks) answer: Option<Value>,
    pub(in crate::tasks) expires: u64,
}

/// A step that asks something.
#[derive(Debug, PartialEq)]
pub(in crate::tasks) struct AskingStep<'a> {
    pub(in crate::tasks) step: &'a str,
    pub(in crate::tasks) since: u64,
    pub(in crate::tasks) is_open: bool,
}

impl AskedQuestions {
    pub(in crate::tasks) fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let Self(mut asked) = serde_json::from_slice(bytes)?;
        asked.iter_mut().for_each(|question| question.is_earlier = true);
        Ok(Self(asked))
    }

    /// Adds this to all times: see `TaskRecord::date_by`.
    pub(in crate::tasks) fn moved_by(mut self, offset: i64) -> Self {
        for asked in self.0.iter_mut() {
            asked.expires = asked.expires.saturating_add_signed(offset);
            // Zero means that the time is not known.
            asked.asked = if asked.asked == 0 { 0 } else { asked.asked.saturating_add_signed(offset) };
        }
        self
    }

    pub(in crate::tasks) fn to_bytes(&self) -> Vec<u8> {
        // Text and JSON can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Adds a question of a step. `own` is the key of the question in that step.
    pub(in crate::tasks) fn ask(
        &mut self,
        kind: AskedKind,
        step: Option<&str>,
        own: &str,
        now: u64,
        expires: u64,
    ) -> TaskQuestion {
        let is_same = |asked: &&mut AskedQuestion| {
            asked.is_earlier && asked.kind == kind && asked.step.as_deref() == step && asked.own == own
        };
        if step.is_some()
            && let Some(asked) = self.0.iter_mut().find(is_same)
        {
            asked.is_earlier = false;
            // The time to wait starts once, and not again with each run.
            let expires = expires.min(asked.expires);
            return TaskQuestion { key: asked.key.clone(), answer: asked.answer.clone(), expires };
        }
        let taken: HashSet<&str> = self.0.iter().map(|asked| &*asked.key).collect();
        let (mut key, mut number) = (own.to_owned(), 1);
        while taken.contains(&*key) {
            number += 1;
            key = format!("{own}-{number}");
        }
        let (step, own) = (step.map(str::to_owned), own.to_owned());
        let (key_here, asked, is_earlier) = (key.clone(), now, false);
        self.0.push(AskedQuestion { key: key_here, kind, step, own, answer: None, expires, asked, is_earlier });
        TaskQuestion { key, answer: None, expires }
    }

    /// The steps that ask questions: each with the time when it began to ask, in milliseconds since 1970, and whether one of
    /// the keys in `open` belongs to it.
    pub(in crate::tasks) fn steps(&self, open: impl Fn(&str) -> bool) -> Vec<AskingStep<'_>> {
        let mut steps: Vec<AskingStep<'_>> = Vec::new();
        // The journal already has the names of the tools that were called.
        for asked in self.0.iter().filter(|asked| asked.asked > 0 && asked.kind == AskedKind::Question) {
            let (Some(step), is_open) = (asked.step.as_deref(), open(&asked.key)) else { continue };
            // The questions of one step follow each other.
            match steps.last_mut().filter(|last| last.step == step) {
                Some(known) => known.is_open |= is_open,
                None => steps.push(AskingStep { step, since: asked.asked, is_open }),
            }
        }
        steps
    }

    /// Stores an answer to a request that an earlier run has made and that this run has not made yet.
    pub(in crate::tasks) fn answer_earlier(&mut self, kind: AskedKind, key: &str, answer: &Value) {
        if self.is_open_earlier(kind, key) {
            self.answered(key, answer);
        }
    }

    /// Whether this request was made by an earlier run, will be made again by this run but was not yet, and has no answer.
    pub(in crate::tasks) fn is_open_earlier(&self, kind: AskedKind, key: &str) -> bool {
        self.0.iter().any(|asked| {
            let will_be_asked = asked.is_earlier && asked.step.is_some();
            will_be_asked && asked.answer.is_none() && asked.kind == kind && asked.key == key
        })
    }

    pub(in crate::tasks) fn answered(&mut self, key: &str, answer: &Value) {
        if let Some(asked) = self.0.iter_mut().rfind(|asked| asked.key == key) {
            asked.answer = Some(answer.clone());
        }
    }

    /// Drops old answers before new ones arrive: the call has already taken the old ones.
    pub(in crate::tasks) fn make_room(&mut self) {
        let mut bytes = 0;
        for asked in self.0.iter_mut().rev() {
            bytes += asked.answer.as_ref().map_or(0, |answer| answer.to_string().len());
            if bytes > MAX_ANSWERS {
                asked.answer = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AskedKind::{Call, Question};
    use super::*;
    use serde_json::json;

    #[test]
    fn a_later_run_asks_the_same_under_the_same_keys() {
        let mut asked = AskedQuestions::default();
        let keys = ["1", "2", "3"].map(|step| asked.ask(Question, Some(step), "sure", 50, 70).key);
        assert_eq!(keys, ["sure", "sure-2", "sure-3"]);
        assert_eq!(asked.ask(Question, None, "sure", 50, 70).key, "sure-4");
        asked.answered("sure-2", &json!(2));
        let mut later = AskedQuestions::from_bytes(&asked.to_bytes()).unwrap();
        let as_before = |key: &str, answer| TaskQuestion { key: key.into(), answer, expires: 70 };
        assert_eq!(
            later.ask(Question, Some("2"), "sure", 50, 90),
            as_before("sure-2", Some(json!(2))),
            "in whatever order"
        );
        for key in ["sure-2", "sure-3", "nobody"] {
            later.answer_earlier(Question, key, &json!(3));
        }
        assert_eq!(
            later.ask(Question, Some("3"), "sure", 50, 90),
            as_before("sure-3", Some(json!(3))),
            "it came before the question"
        );
        let step = |step, is_open| AskingStep { step, since: 50, is_open };
        assert_eq!(later.steps(|key| key == "sure-2"), [step("1", false), step("2", true), step("3", false)]);
        let new = TaskQuestion { key: "sure-5".into(), answer: None, expires: 90 };
        assert_eq!(later.ask(Question, Some("4"), "sure", 50, 90), new, "the first was answered, and is not this one");
        assert_eq!(later.ask(Question, None, "sure", 50, 90).key, "sure-6");
    }

    #[test]
    fn old_answers_make_room() {
        let mut asked = AskedQuestions::default();
        let large = json!("x".repeat(MAX_ANSWERS / 2));
        for at in 0..4 {
            let key = asked.ask(Question, Some(&format!("{at}")), "q", 50, 0).key;
            asked.make_room();
            asked.answered(&key, &large);
        }
        let kept: Vec<bool> = asked.0.iter().map(|asked| asked.answer.is_some()).collect();
        assert_eq!(kept, [false, false, true, true]);
    }
    #[test]
    fn an_answer_to_a_question_is_no_outcome_of_a_call() {
        let mut asked = AskedQuestions::default();
        assert_eq!(asked.ask(Question, Some("1"), "call-2", 50, 70).key, "call-2");
        assert_eq!(asked.ask(Call, Some("2"), "call-2", 50, 70).key, "call-2-2", "no key is used twice");
        let mut later = AskedQuestions::from_bytes(&asked.to_bytes()).unwrap();
        later.answer_earlier(Question, "call-2-2", &json!(1));
        later.answer_earlier(Call, "call-2", &json!(2));
        assert_eq!(later.steps(|_| true).len(), 1, "a call is in the journal");
        for (kind, step, key) in [(Question, "1", "call-2"), (Call, "2", "call-2-2")] {
            assert_eq!(
                later.ask(kind, Some(step), "call-2", 60, 90),
                TaskQuestion { key: key.into(), answer: None, expires: 70 }
            );
        }
    }

    #[test]
    fn what_an_earlier_version_has_stored_are_questions() {
        let stored = json!([{"key": "sure", "step": "1", "own": "sure", "answer": null, "expires": 70, "asked": 50}]);
        let mut asked = AskedQuestions::from_bytes(stored.to_string().as_bytes()).unwrap();
        asked.answer_earlier(Question, "sure", &json!(7));
        assert_eq!(asked.ask(Question, Some("1"), "sure", 50, 90).answer, Some(json!(7)));
    }
}
