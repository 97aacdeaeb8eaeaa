//! What somebody must rule on, and what can be ruled.

use crate::{Address, Happened};
use runtime::imports::{FormSchema, SampleAnswer, SampleRequest, Schema};
use serde_json::{Map, Value};
use upstream::{Asker, ToolRequest};

/// Something that a server wants. What it says of it is its own words.
#[derive(Debug, Clone)]
pub enum Matter {
    /// A tool of the agent's is to be called.
    Call {
        /// Which, with what, why.
        request: ToolRequest,
        /// JSON text; edited arguments must match it.
        schema: Option<String>,
        /// Whether saying yes is for the whole task, as a rule wants it.
        whole_task: bool,
    },
    /// A form is to be filled in.
    Form {
        /// Who asks.
        from: Asker,
        /// For the user.
        message: String,
        /// Its fields.
        schema: FormSchema,
    },
    /// A page is to be opened.
    Page {
        /// Who asks.
        from: Asker,
        /// For the user.
        message: String,
        /// Which, looked at.
        address: Address,
    },
    /// A model is to be asked; nobody has asked it yet.
    Prompt {
        /// Who asks.
        from: Asker,
        /// What.
        request: SampleRequest,
    },
    /// A model is to be asked, and there is none: the user answers.
    Completion {
        /// Who asks.
        from: Asker,
        /// What.
        request: SampleRequest,
    },
    /// A model has answered; the server does not know yet.
    Answered {
        /// Who asked.
        from: Asker,
        /// What the model says.
        answer: SampleAnswer,
    },
    /// An event is to start something that the user has planned.
    Event {
        /// In whose inbox.
        server: String,
        /// What and what then.
        happened: Happened,
    },
}

/// What is ruled.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    /// Yes.
    Allow,
    /// Yes, now and from now on.
    Always,
    /// Yes, for as long as the call runs that it belongs to.
    ThisTask,
    /// Yes, with these arguments or answers.
    Fill(Map<String, Value>),
    /// Yes, with this text instead.
    Text(String),
    /// No, and why.
    Deny(String),
    /// Neither.
    Cancel,
}

/// A ruling that does not suit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulingError {
    /// Nothing there.
    #[error("nothing waits for an answer")]
    Nothing,
    /// No such number.
    #[error("nothing with the number {0} waits; see `waiting`")]
    Unknown(u64),
    /// Another kind of answer is needed.
    #[error("{0}")]
    Unsuitable(&'static str),
    /// The schema says no.
    #[error("that does not match: {0}")]
    Mismatch(String),
}

impl Matter {
    /// Which server it is about.
    pub fn server(&self) -> &str {
        match self {
            Matter::Call { request, .. } => &request.from.server,
            Matter::Event { server, .. } => server,
            Matter::Form { from, .. }
            | Matter::Page { from, .. }
            | Matter::Prompt { from, .. }
            | Matter::Completion { from, .. }
            | Matter::Answered { from, .. } => &from.server,
        }
    }

    /// Whether this is an answer to it.
    pub fn check(&self, ruling: &Ruling) -> Result<(), RulingError> {
        let unsuitable = |text| Err(RulingError::Unsuitable(text));
        match (self, ruling) {
            (_, Ruling::Deny(_) | Ruling::Cancel) => Ok(()),
            (Matter::Call { .. }, Ruling::Allow | Ruling::Always | Ruling::ThisTask) => Ok(()),
            (Matter::Call { schema, .. }, Ruling::Fill(arguments)) => fits(schema.as_deref(), arguments),
            (Matter::Call { .. }, Ruling::Text(_)) => unsuitable("arguments are a JSON object: edit N {…}"),
            (Matter::Form { schema, .. }, Ruling::Fill(values)) => {
                schema.check(&Value::Object(values.clone())).map_err(RulingError::Mismatch)
            }
            (Matter::Form { .. }, _) => unsuitable("it is a form: answer N, or answer N {…}"),
            (Matter::Prompt { .. } | Matter::Answered { .. }, Ruling::Allow | Ruling::Text(_)) => Ok(()),
            (Matter::Prompt { .. } | Matter::Answered { .. }, _) => unsuitable("approve N, edit N TEXT, or deny N"),
            (Matter::Completion { .. }, Ruling::Text(_)) => Ok(()),
            (Matter::Completion { .. }, _) => unsuitable("there is no model: answer N TEXT, or deny N"),
            (Matter::Page { .. } | Matter::Event { .. }, Ruling::Allow) => Ok(()),
            (Matter::Page { .. } | Matter::Event { .. }, _) => unsuitable("approve N, or deny N"),
        }
    }
}

fn fits(schema: Option<&str>, arguments: &Map<String, Value>) -> Result<(), RulingError> {
    let Some(schema) = schema else { return Ok(()) };
    let schema = Schema::compile(schema).map_err(|error| RulingError::Mismatch(error.to_string()))?;
    schema.check(&Value::Object(arguments.clone())).map_err(RulingError::Mismatch)
}
