//! The import `client`.

use super::super::guest::Guest;
use super::bindings::portcullis::plugin::client as w;
use super::store::{Store, charge, charge_with_bytes};
use super::types::{
    blob_from_guest, blob_to_guest, content_from_guest, content_to_guest, denial_to_guest, exhaustion_to_guest,
    role_from_guest, role_to_guest,
};
use crate::imports as h;
use crate::imports::price;
use wasmtime::component::Linker;

type Answered<T> = Result<T, w::ClientError>;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut client = linker.instance("portcullis:plugin/client@0.1.0")?;
    client.func_wrap("supported", |mut store: Store<'_>, (): ()| {
        charge(&mut store, price::CALL)?;
        Ok((abilities_to_guest(store.data_mut().imports()?.client().abilities()),))
    })?;
    client.func_wrap_async("elicit-form", |store: Store<'_>, (key, form): (Option<String>, w::Form)| {
        Box::new(async move {
            let question = question_from_guest(w::Question::Form(form));
            let answer: Answered<w::FormAnswer> = ask_one(store, key, question, |answer| match answer {
                h::ClientAnswer::Form(answer) => Some(form_answer_to_guest(answer)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("elicit-url", |store: Store<'_>, (key, url): (Option<String>, w::Url)| {
        Box::new(async move {
            let question = question_from_guest(w::Question::Url(url));
            let answer: Answered<w::Consent> = ask_one(store, key, question, |answer| match answer {
                h::ClientAnswer::Url(consent) => Some(consent_to_guest(consent)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("sample", |store: Store<'_>, (key, request): (Option<String>, w::SampleRequest)| {
        Box::new(async move {
            let question = question_from_guest(w::Question::Sample(request));
            let answer: Answered<w::SampleAnswer> = ask_one(store, key, question, |answer| match answer {
                h::ClientAnswer::Sample(answer) => Some(sample_answer_to_guest(answer)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("list-roots", |store: Store<'_>, (key,): (Option<String>,)| {
        Box::new(async move {
            let answer: Answered<Vec<w::Root>> = ask_one(store, key, h::Question::Roots, |answer| match answer {
                h::ClientAnswer::Roots(roots) => Some(roots.into_iter().map(root_to_guest).collect()),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("ask-many", |store: Store<'_>, (questions,): (Vec<w::KeyedQuestion>,)| {
        Box::new(async move {
            let questions = questions.into_iter().map(|q| (Some(q.key), question_from_guest(q.question))).collect();
            let answers: Answered<Vec<w::Answer>> = match ask(store, questions).await? {
                Ok(answers) => Ok(answers.into_iter().map(answer_to_guest).collect()),
                Err(error) => Err(error_to_guest(error)),
            };
            Ok((answers,))
        })
    })
}

/// Asks one question; `pick` unwraps an answer of its kind.
async fn ask_one<T>(
    store: Store<'_>,
    key: Option<String>,
    question: h::Question,
    pick: fn(h::ClientAnswer) -> Option<T>,
) -> wasmtime::Result<Answered<T>> {
    let answers = ask(store, vec![(key, question)]).await?;
    // The checks on the way let through only answers of the question's kind.
    let answer = answers.and_then(|answers| {
        let mismatch = || h::ClientError::Failed("the client answered another kind of question".into());
        answers.into_iter().next().and_then(pick).ok_or_else(mismatch)
    });
    Ok(answer.map_err(error_to_guest))
}

async fn ask(
    mut store: Store<'_>,
    questions: Vec<(Option<String>, h::Question)>,
) -> wasmtime::Result<Result<Vec<h::ClientAnswer>, h::ClientError>> {
    let size =
        |(key, question): &(Option<String>, h::Question)| key.as_ref().map_or(0, String::len) as u64 + question.size();
    let bytes = questions.iter().map(size).sum();
    charge_with_bytes(&mut store, price::QUESTION.saturating_mul(questions.len() as u64), bytes)?;
    let guest = store.data_mut();
    guest.count_host_bytes(bytes);
    Ok(guest.imports()?.client().ask(questions).await)
}

fn abilities_to_guest(abilities: h::Abilities) -> w::Abilities {
    let h::Abilities { form, url, sample, sample_tools, roots } = abilities;
    w::Abilities { form, url, sample, sample_tools, roots }
}

fn question_from_guest(question: w::Question) -> h::Question {
    match question {
        w::Question::Form(w::Form { message, schema }) => h::Question::Form { message, schema },
        w::Question::Url(w::Url { message, target }) => {
            let target = match target {
                w::UrlTarget::Address(address) => h::UrlTarget::Address(address),
                w::UrlTarget::Connect(connection) => h::UrlTarget::Connect(connection),
            };
            h::Question::Url { message, target }
        }
        w::Question::Sample(request) => h::Question::Sample(sample_request_from_guest(request)),
        w::Question::Roots => h::Question::Roots,
    }
}

fn sample_request_from_guest(request: w::SampleRequest) -> h::SampleRequest {
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
    match content {
        w::SampleContent::Text(text) => h::SampleContent::Text(text),
        w::SampleContent::Image(blob) => h::SampleContent::Image(blob_from_guest(blob)),
        w::SampleContent::Audio(blob) => h::SampleContent::Audio(blob_from_guest(blob)),
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
    match content {
        h::SampleContent::Text(text) => w::SampleContent::Text(text),
        h::SampleContent::Image(blob) => w::SampleContent::Image(blob_to_guest(blob)),
        h::SampleContent::Audio(blob) => w::SampleContent::Audio(blob_to_guest(blob)),
        h::SampleContent::ToolUse(h::ToolUse { id, name, input }) => {
            w::SampleContent::ToolUse(w::ToolUse { id, name, input })
        }
        h::SampleContent::ToolResult(h::ToolOutcome { id, content, structured, is_error }) => {
            let content = content.into_iter().map(content_to_guest).collect();
            w::SampleContent::ToolResult(w::ToolOutcome { id, content, structured, is_error })
        }
    }
}

fn answer_to_guest(answer: h::ClientAnswer) -> w::Answer {
    match answer {
        h::ClientAnswer::Form(answer) => w::Answer::Form(form_answer_to_guest(answer)),
        h::ClientAnswer::Url(consent) => w::Answer::Url(consent_to_guest(consent)),
        h::ClientAnswer::Sample(answer) => w::Answer::Sample(sample_answer_to_guest(answer)),
        h::ClientAnswer::Roots(roots) => w::Answer::Roots(roots.into_iter().map(root_to_guest).collect()),
    }
}

fn form_answer_to_guest(answer: h::FormAnswer) -> w::FormAnswer {
    match answer {
        h::FormAnswer::Accepted(content) => w::FormAnswer::Accepted(content),
        h::FormAnswer::Declined => w::FormAnswer::Declined,
        h::FormAnswer::Cancelled => w::FormAnswer::Cancelled,
    }
}

fn consent_to_guest(consent: h::Consent) -> w::Consent {
    match consent {
        h::Consent::Accept => w::Consent::Accepted,
        h::Consent::Decline => w::Consent::Declined,
        h::Consent::Cancel => w::Consent::Cancelled,
    }
}

fn sample_answer_to_guest(answer: h::SampleAnswer) -> w::SampleAnswer {
    w::SampleAnswer {
        role: role_to_guest(answer.role),
        content: answer.content.into_iter().map(sample_content_to_guest).collect(),
        model: answer.model,
        stop_reason: answer.stop_reason,
    }
}

fn root_to_guest(root: h::Root) -> w::Root {
    w::Root { uri: root.uri, name: root.name }
}

fn error_to_guest(error: h::ClientError) -> w::ClientError {
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
