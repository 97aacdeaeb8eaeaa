//! The import `client`: questions to the other side.

use super::bindings::portcullis::plugin::client as w;
use super::convert_client as convert;
use super::link::{Store, charge};
use crate::engine::Supervised;
use crate::imports::{Answer, ClientError, Question, price};
use wasmtime::component::Linker;

use super::super::guest::Guest;

type Asked<T> = Result<T, w::ClientError>;

pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut client = linker.instance("portcullis:plugin/client@0.1.0")?;
    client.func_wrap("supported", |mut store: Store<'_>, (): ()| {
        charge(&mut store, price::CALL)?;
        Ok((convert::abilities_to_guest(store.data_mut().call()?.client.abilities()),))
    })?;
    client.func_wrap_async("elicit-form", |store: Store<'_>, (key, form): (Option<String>, w::Form)| {
        Box::new(async move {
            let question = convert::question_from_guest(w::Question::Form(form));
            let answer: Asked<w::FormAnswer> = one(store, key, question, |answer| match answer {
                Answer::Form(answer) => Some(convert::form_answer_to_guest(answer)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("elicit-url", |store: Store<'_>, (key, url): (Option<String>, w::Url)| {
        Box::new(async move {
            let question = convert::question_from_guest(w::Question::Url(url));
            let answer: Asked<w::Consent> = one(store, key, question, |answer| match answer {
                Answer::Url(decision) => Some(convert::consent_to_guest(decision)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("sample", |store: Store<'_>, (key, request): (Option<String>, w::SampleRequest)| {
        Box::new(async move {
            let question = convert::question_from_guest(w::Question::Sample(request));
            let answer: Asked<w::SampleAnswer> = one(store, key, question, |answer| match answer {
                Answer::Sample(answer) => Some(convert::sample_answer_to_guest(answer)),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("list-roots", |store: Store<'_>, (key,): (Option<String>,)| {
        Box::new(async move {
            let answer: Asked<Vec<w::Root>> = one(store, key, Question::Roots, |answer| match answer {
                Answer::Roots(roots) => Some(roots.into_iter().map(convert::root_to_guest).collect()),
                _ => None,
            })
            .await?;
            Ok((answer,))
        })
    })?;
    client.func_wrap_async("ask-many", |store: Store<'_>, (questions,): (Vec<w::KeyedQuestion>,)| {
        Box::new(async move {
            let questions =
                questions.into_iter().map(|q| (Some(q.key), convert::question_from_guest(q.question))).collect();
            let answers: Asked<Vec<w::Answer>> = match ask(store, questions).await? {
                Ok(answers) => Ok(answers.into_iter().map(convert::answer_to_guest).collect()),
                Err(error) => Err(convert::error_to_guest(error)),
            };
            Ok((answers,))
        })
    })
}

/// One question; `pick` takes the answer of its kind.
async fn one<T>(
    store: Store<'_>,
    key: Option<String>,
    question: Question,
    pick: fn(Answer) -> Option<T>,
) -> wasmtime::Result<Asked<T>> {
    let answers = ask(store, vec![(key, question)]).await?;
    // The checks above the wire let through only answers of the question's kind.
    let picked = answers.and_then(|answers| {
        let odd = || ClientError::Failed("the client answered another kind of question".into());
        answers.into_iter().next().and_then(pick).ok_or_else(odd)
    });
    Ok(picked.map_err(convert::error_to_guest))
}

async fn ask(
    mut store: Store<'_>,
    questions: Vec<(Option<String>, Question)>,
) -> wasmtime::Result<Result<Vec<Answer>, ClientError>> {
    let bytes: u64 = questions.iter().map(|(_, question)| question.size()).sum();
    let setup = price::QUESTION.saturating_mul(questions.len() as u64);
    charge(&mut store, setup.saturating_add(bytes.saturating_mul(price::BYTE)))?;
    let guest = store.data_mut();
    let held = guest.supervision().held();
    Ok(guest.call()?.client.ask(questions, held).await)
}
