//! Between the generated types of `client` and the host's own.

use super::bindings::portcullis::plugin::{client as w, types as wt};
use super::convert::{
    content_from_guest, content_to_guest, denial_to_guest, exhaustion_to_guest, role_from_guest, role_to_guest,
};
use crate::imports as h;

pub(super) fn abilities_to_guest(abilities: h::Abilities) -> w::Abilities {
    let h::Abilities { form, url, sample, sample_tools, roots } = abilities;
    w::Abilities { form, url, sample, sample_tools, roots }
}

pub(super) fn question_from_guest(question: w::Question) -> h::Question {
    match question {
        w::Question::Form(w::Form { message, schema }) => h::Question::Form { message, schema },
        w::Question::Url(w::Url { message, target }) => {
            let target = match target {
                w::UrlTarget::Address(address) => h::UrlTarget::Address(address),
                w::UrlTarget::Connect(connection) => h::UrlTarget::Connect(connection),
            };
            h::Question::Url { message, target }
        }
        w::Question::Sample(request) => h::Question::Sample(sample_request(request)),
        w::Question::Roots => h::Question::Roots,
    }
}

fn sample_request(request: w::SampleRequest) -> h::SampleRequest {
    let message = |message: w::SampleMessage| h::SampleMessage {
        role: role_from_guest(message.role),
        content: message.content.into_iter().map(sample_content_from_guest).collect(),
    };
    let tool = |w::SampleTool { name, description, input_schema }| h::SampleTool { name, description, input_schema };
    let w::ModelPreferences { hints, cost, speed, intelligence } = request.model;
    h::SampleRequest {
        messages: request.messages.into_iter().map(message).collect(),
        system_prompt: request.system_prompt,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        stop_sequences: request.stop_sequences,
        model: h::ModelPreferences { hints, cost, speed, intelligence },
        tools: request.tools.into_iter().map(tool).collect(),
        tool_choice: request.tool_choice.map(|choice| match choice {
            w::ToolChoice::Auto => h::ToolChoice::Auto,
            w::ToolChoice::Required => h::ToolChoice::Required,
            w::ToolChoice::None => h::ToolChoice::None,
        }),
        purpose: request.purpose,
    }
}

fn sample_content_from_guest(content: w::SampleContent) -> h::SampleContent {
    let blob = |b: wt::Blob| h::Blob { mime_type: b.mime_type, data: b.data };
    match content {
        w::SampleContent::Text(text) => h::SampleContent::Text(text),
        w::SampleContent::Image(b) => h::SampleContent::Image(blob(b)),
        w::SampleContent::Audio(b) => h::SampleContent::Audio(blob(b)),
        w::SampleContent::ToolUse(w::ToolUse { id, name, input }) => {
            h::SampleContent::ToolUse(h::ToolUse { id, name, input })
        }
        w::SampleContent::ToolResult(w::ToolOutcome { id, content, structured, is_error }) => {
            let content = content.into_iter().map(content_from_guest).collect();
            h::SampleContent::ToolResult(h::ToolOutcome { id, content, structured, is_error })
        }
    }
}

fn sample_content_to_guest(content: h::SampleContent) -> w::SampleContent {
    let blob = |b: h::Blob| wt::Blob { mime_type: b.mime_type, data: b.data };
    match content {
        h::SampleContent::Text(text) => w::SampleContent::Text(text),
        h::SampleContent::Image(b) => w::SampleContent::Image(blob(b)),
        h::SampleContent::Audio(b) => w::SampleContent::Audio(blob(b)),
        h::SampleContent::ToolUse(h::ToolUse { id, name, input }) => {
            w::SampleContent::ToolUse(w::ToolUse { id, name, input })
        }
        h::SampleContent::ToolResult(h::ToolOutcome { id, content, structured, is_error }) => {
            let content = content.into_iter().map(content_to_guest).collect();
            w::SampleContent::ToolResult(w::ToolOutcome { id, content, structured, is_error })
        }
    }
}

pub(super) fn answer_to_guest(answer: h::Answer) -> w::Answer {
    match answer {
        h::Answer::Form(answer) => w::Answer::Form(form_answer_to_guest(answer)),
        h::Answer::Url(decision) => w::Answer::Url(consent_to_guest(decision)),
        h::Answer::Sample(answer) => w::Answer::Sample(sample_answer_to_guest(answer)),
        h::Answer::Roots(roots) => w::Answer::Roots(roots.into_iter().map(root_to_guest).collect()),
    }
}

pub(super) fn form_answer_to_guest(answer: h::FormAnswer) -> w::FormAnswer {
    match answer {
        h::FormAnswer::Accepted(content) => w::FormAnswer::Accepted(content),
        h::FormAnswer::Declined => w::FormAnswer::Declined,
        h::FormAnswer::Cancelled => w::FormAnswer::Cancelled,
    }
}

pub(super) fn consent_to_guest(decision: h::Decision) -> w::Consent {
    match decision {
        h::Decision::Accept => w::Consent::Accepted,
        h::Decision::Decline => w::Consent::Declined,
        h::Decision::Cancel => w::Consent::Cancelled,
    }
}

pub(super) fn sample_answer_to_guest(answer: h::SampleAnswer) -> w::SampleAnswer {
    w::SampleAnswer {
        role: role_to_guest(answer.role),
        content: answer.content.into_iter().map(sample_content_to_guest).collect(),
        model: answer.model,
        stop_reason: answer.stop_reason,
    }
}

pub(super) fn root_to_guest(root: h::Root) -> w::Root {
    w::Root { uri: root.uri, name: root.name }
}

pub(super) fn error_to_guest(error: h::ClientError) -> w::ClientError {
    match error {
        h::ClientError::Unsupported(ability) => w::ClientError::Unsupported(ability.name().to_owned()),
        h::ClientError::NotOffered(what) => w::ClientError::Unsupported(what),
        h::ClientError::Denied(denial) => w::ClientError::Denied(denial_to_guest(denial)),
        h::ClientError::Invalid(reason) => w::ClientError::Invalid(reason),
        h::ClientError::Declined(reason) => w::ClientError::Declined(reason),
        h::ClientError::NotAnswered(reason) => w::ClientError::NotAnswered(reason),
        h::ClientError::Timeout(ms) => w::ClientError::Timeout(ms),
        h::ClientError::Exhausted(exhaustion) => w::ClientError::Exhausted(exhaustion_to_guest(exhaustion)),
        h::ClientError::Cancelled => w::ClientError::Cancelled,
        h::ClientError::Failed(reason) => w::ClientError::Failed(reason),
    }
}
