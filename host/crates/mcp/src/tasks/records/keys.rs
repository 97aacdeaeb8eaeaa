//! The keys under which a task is stored.

use platform::durable::Key;

/// The parts of a stored task, each under its own key.
#[derive(Debug, Clone, Copy)]
pub(in crate::tasks) enum Part {
    /// Its current state.
    Record,
    /// The call that it began with.
    Call,
    /// The log of the call's steps.
    Journal,
    /// Its questions and tool calls, with the answers.
    Asked,
    /// The output of its call up to its last checkpoint, or to its end.
    Output,
    /// A summary of what its call did, once it has ended.
    Timeline,
    /// Fuel and memory that its call used over time.
    Samples,
}

impl Part {
    pub(in crate::tasks) const ALL: [Self; 7] =
        [Self::Record, Self::Call, Self::Journal, Self::Asked, Self::Output, Self::Timeline, Self::Samples];

    const fn prefix(self) -> &'static str {
        match self {
            Self::Record => "task",
            Self::Call => "task-call",
            Self::Journal => "task-journal",
            Self::Asked => "task-asked",
            Self::Output => "task-output",
            Self::Timeline => "task-timeline",
            Self::Samples => "task-samples",
        }
    }

    /// None if no task can have this id.
    pub(in crate::tasks) fn key(self, id: &str) -> Option<Key> {
        Key::new(format!("{}/{id}", self.prefix())).ok().filter(|_| !id.contains('/'))
    }
}

/// The prefix of the keys of all records.
pub(in crate::tasks) fn all_records() -> Option<Key> {
    Key::new(Part::Record.prefix()).ok()
}
