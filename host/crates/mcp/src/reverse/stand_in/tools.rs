//! The stand-in tools that the operator describes in a file.

use super::tool::StandInTool;
use rmcp::model as m;
use runtime::imports::{
    Abilities, AgentError, AgentResult, AgentTool, Author, CheckedQuestion, ClientError, ClientReply, Origin,
    QuestionBatch, ReverseCall, count_questions,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Tools in one file. Bounds what a plugin is shown.
pub(super) const MAX_TOOLS: usize = 128;
/// Characters of a tool's name, as in a client's declaration.
const MAX_NAME: usize = 128;

/// The described tools, by name.
pub struct StandInTools(BTreeMap<String, StandInTool>);

impl StandInTools {
    /// Parses a JSON list of MCP tools.
    pub fn parse(text: &str) -> Result<Self, String> {
        let list: Vec<m::Tool> =
            serde_json::from_str(text).map_err(|error| format!("it is not a JSON list of MCP tools: {error}"))?;
        if list.len() > MAX_TOOLS {
            return Err(format!("it has {} tools, more than {MAX_TOOLS}", list.len()));
        }
        let mut tools = BTreeMap::new();
        for tool in list {
            let name = tool.name.to_string();
            let is_invalid = |c: char| c.is_whitespace() || c.is_control();
            if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(is_invalid) {
                return Err(format!("{name:?} is not a valid tool name: 1 to {MAX_NAME} characters without spaces"));
            }
            let tool = StandInTool::new(tool).map_err(|why| format!("the tool `{name}`: {why}"))?;
            if tools.insert(name.clone(), tool).is_some() {
                return Err(format!("two tools are named `{name}`"));
            }
        }
        Ok(Self(tools))
    }

    /// All tools, if a client with these abilities can answer for them.
    pub(crate) fn tools(&self, abilities: Abilities) -> impl Iterator<Item = AgentTool> {
        let origin = choose_origin(abilities);
        self.0.values().filter_map(move |it| Some(AgentTool { tool: it.tool.clone(), origin: origin.clone()? }))
    }

    /// Who answers for a tool, if it is described and the client can answer.
    pub(crate) fn find(&self, name: &str, abilities: Abilities) -> Option<Origin> {
        self.0.get(name).and_then(|_| choose_origin(abilities))
    }

    /// Asks the client and waits for the answer. `key` is the question's key.
    pub(crate) async fn call(
        &self,
        call: &ReverseCall,
        key: String,
        timeout: Duration,
    ) -> Result<AgentResult, AgentError> {
        let tool = self.0.get(&call.name).ok_or_else(|| AgentError::UnknownTool(call.name.clone()))?;
        let unsupported = || {
            AgentError::NotSupported(format!(
                "neither the client's model nor its user can stand in for `{}`",
                call.name
            ))
        };
        let origin = choose_origin(call.client.abilities()).ok_or_else(unsupported)?;
        let message = tool.question(call)?;
        count_questions(&call.lineage, 1).map_err(AgentError::Exhausted)?;
        let question = match origin {
            Origin::Model => CheckedQuestion::Sample(tool.sample_request(message)),
            _ => CheckedQuestion::Form { message, schema: tool.form.clone() },
        };
        let questions = vec![(key, question)];
        let batch = QuestionBatch { plugin: call.plugin.clone(), author: Author::Host, questions, timeout, step: None };
        let mut replies = call.client.ask(batch).await.map_err(to_agent_error)?;
        match replies.pop() {
            Some(ClientReply::Sample(answer)) if origin == Origin::Model => tool.parse_model_answer(answer),
            Some(ClientReply::Form(consent, content)) if origin == Origin::User => {
                tool.parse_user_answer(consent, content)
            }
            Some(ClientReply::Refused(why)) => Err(AgentError::Declined(why)),
            Some(ClientReply::Failed(why) | ClientReply::Missing(why)) => Err(AgentError::Failed(why)),
            _ => Err(AgentError::Failed("the client answered another kind of question".into())),
        }
    }
}

/// The model comes first: it answers at once, and the client reviews its answer.
fn choose_origin(abilities: Abilities) -> Option<Origin> {
    match abilities {
        Abilities { sample_tools: true, .. } => Some(Origin::Model),
        Abilities { form: true, .. } => Some(Origin::User),
        _ => None,
    }
}

fn to_agent_error(error: ClientError) -> AgentError {
    match error {
        ClientError::Denied(denial) => AgentError::Denied(denial),
        ClientError::Declined(why) => AgentError::Declined(why),
        ClientError::Timeout(limit) => AgentError::Timeout(limit),
        ClientError::Exhausted(exhaustion) => AgentError::Exhausted(exhaustion),
        ClientError::Cancelled => AgentError::Cancelled,
        ClientError::Unsupported(ability) => {
            AgentError::NotSupported(format!("the client does not have {}", ability.name()))
        }
        ClientError::NotOffered(what) => AgentError::NotSupported(what),
        ClientError::Invalid(why) | ClientError::NotAnswered(why) | ClientError::Failed(why) => AgentError::Failed(why),
    }
}
