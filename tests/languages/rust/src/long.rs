//! A task that listens, and goes on in another process; and what is left to a call.

use std::time::Duration;

use portcullis_guest::steering::{self, Received};
use portcullis_guest::{ToolError, checkpoint, meter, output};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct March {
    said: Vec<String>,
}

pub(crate) fn march(steps: i64) -> Result<String, ToolError> {
    let mut march = checkpoint::restored()?.unwrap_or(March { said: Vec::new() });
    while (march.said.len() as i64) < steps {
        output::emit(format!("at step {}", march.said.len()))?;
        match steering::receive(None) {
            Received::Message(message) if message == "halt" => {
                return Ok(format!("halted after {}", march.said.join(", ")));
            }
            Received::Message(message) => march.said.push(message),
            Received::Ended | Received::TimedOut => break,
        }
        checkpoint::save(&march)?;
    }
    Ok(march.said.join(", "))
}

pub(crate) fn listen() -> String {
    let next = steering::next().unwrap_or_else(|| "nothing".into());
    let received = match steering::receive(Some(Duration::from_millis(1))) {
        Received::Message(message) => message,
        Received::Ended => "ended".into(),
        Received::TimedOut => "timed out".into(),
    };
    format!("{next}, {received}")
}

pub(crate) fn budget() -> String {
    let fuel = meter::fuel_left().is_some_and(|fuel| fuel > 0);
    format!("{fuel}, {}", !meter::deadline_left().is_zero())
}
