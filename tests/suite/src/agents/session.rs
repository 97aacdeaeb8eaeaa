//! One run of an agent with a model and a server.

use super::agent::{Agent, Task};
use super::model::{Call, Model};
use crate::journey::{Cache, Running, Served, Transport, printed};
use std::process::Stdio;

/// Where an agent is to run, and the server.
pub(crate) struct Place {
    pub(crate) served: Served,
    agent: &'static Agent,
}

/// A running agent, killed when dropped.
pub(crate) struct Run {
    /// Its model.
    pub(crate) model: Model,
    pub(crate) agent: Running,
}

impl Place {
    pub(crate) fn new(agent: &'static Agent, transport: Transport, config: &str, cache: Cache) -> Self {
        Self { served: Served::new(transport, config, cache), agent }
    }

    /// Starts the agent.
    pub(crate) fn start(&self, script: Vec<Call>) -> Run {
        let model = Model::start(script);
        let home = self.served.folder();
        let task = Task { home: &home, model: &model, server: &self.served.access };
        let mut command = self.agent.command(&task).expect("the agent is installed");
        command.stdin(Stdio::null());
        Run { model, agent: Running::start(command, home) }
    }

    /// The end of what the agent printed.
    pub(crate) fn printed(&self) -> String {
        printed(&self.served.folder())
    }
}
