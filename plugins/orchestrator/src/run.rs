//! The work: rounds of calls made at once, until every part has its answer or nobody is left to ask.

use std::time::Duration;

use portcullis_guest::agent_tools::{self, AgentError, AgentResult};
use portcullis_guest::output::{self, OutputError};
use portcullis_guest::{ToolError, ToolResult, log, progress};

use crate::parts;
use crate::report::{Answer, Part, Report, Trouble, origin};
use crate::sources::{self, Source};

/// How often one source is asked about one part, when its failure may pass.
const TRIES: usize = 2;

/// What to do about a failure.
enum Remedy {
    /// Ask another source; this one is good for other parts, or for this one later.
    Elsewhere,
    /// Ask this source nothing any more.
    GiveUp,
    /// A person said no to this part: leave it.
    Leave,
    /// Nothing can be asked any more.
    Stop,
}

/// Answers the request.
pub(crate) fn investigate(request: &str, patterns: &[String], patience: Duration) -> Result<Report, ToolError> {
    let part = |question| Part { question, answer: None, troubles: Vec::new() };
    let mut parts: Vec<Part> = parts::of(request)?.into_iter().map(part).collect();
    let mut sources = sources::find(patterns)?;
    let mut left_alone = vec![false; parts.len()];

    loop {
        let asked: Vec<(usize, usize)> = (0..parts.len())
            .filter(|&number| parts[number].answer.is_none() && !left_alone[number])
            .filter_map(|number| Some((number, choose(number, &parts[number], &sources)?)))
            .collect();
        if asked.is_empty() {
            break;
        }
        let call = |&(part, source): &(usize, usize)| {
            let question = &parts[part].question;
            sources[source].ask(question).timeout(patience).purpose(format!("find out: {question}"))
        };
        let results = agent_tools::call_many(asked.iter().map(call).collect());
        let mut stopped = false;
        for (&(number, source), result) in asked.iter().zip(results) {
            let error = match result {
                Ok(result) => {
                    parts[number].answer = Some(answer(&sources[source], result));
                    continue;
                }
                Err(AgentError::Cancelled) => return Err(ToolError::Cancelled),
                Err(error) => error,
            };
            let trouble = Trouble { source: sources[source].name.clone(), why: error.to_string() };
            say(&format!("{}: {}: {}", parts[number].question, trouble.source, trouble.why))?;
            match remedy(&error) {
                Remedy::Elsewhere => {}
                Remedy::GiveUp => sources[source].broken = Some(trouble.why.clone()),
                Remedy::Leave => left_alone[number] = true,
                Remedy::Stop => stopped = true,
            }
            parts[number].troubles.push(trouble);
        }
        let answered = answered(&parts);
        // A few parts, far below 2^53.
        progress::report_with(answered as f64, Some(parts.len() as f64), format!("{answered} of {}", parts.len()));
        if stopped {
            break;
        }
    }

    let given_up = sources.into_iter().filter_map(|Source { name, broken, .. }| Some((name, broken?)));
    let given_up = given_up.map(|(source, why)| Trouble { source, why }).collect();
    Ok(Report { answered: answered(&parts), parts, given_up })
}

/// Whom to ask about a part: whoever has not been asked about it, beginning with another one for each part, so that all
/// have something to do; then once more those whose failure may have passed.
fn choose(number: usize, part: &Part, sources: &[Source]) -> Option<usize> {
    let tries = |source: usize| part.troubles.iter().filter(|trouble| trouble.source == sources[source].name).count();
    let usable = |source: &usize| sources[*source].broken.is_none() && tries(*source) < TRIES;
    let turn = (0..sources.len()).map(|source| (number + source) % sources.len());
    turn.filter(usable).min_by_key(|&source| tries(source))
}

fn remedy(error: &AgentError) -> Remedy {
    match error {
        AgentError::Timeout(_) | AgentError::ToolError(_) | AgentError::UnexpectedResult(_) => Remedy::Elsewhere,
        AgentError::UnknownTool(_)
        | AgentError::NotSupported(_)
        | AgentError::Denied(_)
        | AgentError::Cycle(_)
        | AgentError::InvalidArguments(_)
        | AgentError::Failed(_) => Remedy::GiveUp,
        AgentError::Declined(_) => Remedy::Leave,
        AgentError::Exhausted(_) | AgentError::Cancelled => Remedy::Stop,
    }
}

fn answer(source: &Source, result: AgentResult) -> Answer {
    let (origin, private, structured) = (origin(&result.origin), result.private, result.structured);
    let text = ToolResult::from(result.content).all_text();
    let text = if text.is_empty() { structured.unwrap_or_default() } else { text };
    Answer { text, source: source.name.clone(), origin, private }
}

fn answered(parts: &[Part]) -> usize {
    parts.iter().filter(|part| part.answer.is_some()).count()
}

/// Tells whoever watches. Without room for more chunks the work goes on.
fn say(what: &str) -> Result<(), ToolError> {
    match output::emit(what) {
        Ok(_) => Ok(()),
        Err(OutputError::Closed) => Err(ToolError::Cancelled),
        Err(error) => {
            log::info!("{what} ({error})");
            Ok(())
        }
    }
}
