//! The plan itself.

use portcullis_guest::agent_tools::{self, AgentError, CallOptions};
use portcullis_guest::output::{self, OutputError};
use portcullis_guest::{ToolError, log, progress};
use serde::Deserialize;
use serde_json::json;

use crate::mishaps::Mishap;
use crate::report::{Day, Event, Plan};
use crate::{date, mishaps, slots};

const CREATE: &str = "calendar.create_event";

/// What is to be planned.
pub(crate) struct Wish {
    pub(crate) title: String,
    /// The first day, counted from 1970-01-01.
    pub(crate) from: u64,
    pub(crate) days: u32,
    pub(crate) batch: u32,
    pub(crate) mishaps: Vec<Mishap>,
}

/// The event as the calendar has it.
#[derive(Deserialize)]
struct Made {
    id: String,
    day: String,
    start: String,
    title: String,
}

/// Looks at the calendar, picks an hour, takes it.
pub(crate) fn make(wish: &Wish) -> Result<Plan, ToolError> {
    let mut tools: Vec<String> = agent_tools::list().into_iter().map(|tool| tool.name).collect();
    tools.sort_unstable();
    let days = look(wish)?;
    let event = match best(&days) {
        Some((day, start)) => create(day, start, &wish.title)?,
        None => Event::NothingFree,
    };
    let mishaps = wish.mishaps.iter().map(|mishap| mishaps::cause(*mishap)).collect::<Result<_, _>>()?;
    Ok(Plan { tools, days, event, mishaps })
}

/// Asks for the days, a batch at a time. A day that cannot be known is part of the plan; if that is so of all of them, the
/// first reason is the tool's own.
fn look(wish: &Wish) -> Result<Vec<Day>, ToolError> {
    let mut days = Vec::new();
    let mut first_error = None;
    let dates: Vec<String> = (0..wish.days).map(|ahead| date::write(wish.from + u64::from(ahead))).collect();
    for batch in dates.chunks(wish.batch as usize) {
        for (day, answer) in batch.iter().zip(slots::of_all(batch)) {
            let day = day.clone();
            days.push(match answer {
                Ok(found) => Day { day, slots: found.slots, unknown: None },
                Err(AgentError::Cancelled) => return Err(ToolError::Cancelled),
                Err(error) => {
                    let unknown = Some(error.to_string());
                    first_error.get_or_insert(error);
                    Day { day, slots: Vec::new(), unknown }
                }
            });
        }
        tell(&days[days.len() - batch.len()..])?;
        progress::report(days.len() as f64, Some(dates.len() as f64));
    }
    match first_error {
        Some(error) if days.iter().all(|day| day.unknown.is_some()) => Err(error.into()),
        _ => Ok(days),
    }
}

/// A batch in words. A used-up budget for chunks is no reason to give up the plan.
fn tell(batch: &[Day]) -> Result<(), ToolError> {
    let free: usize = batch.iter().map(|day| day.slots.len()).sum();
    let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(()) };
    match output::emit(format_args!("{} to {}: {free} free hours", first.day, last.day)) {
        Ok(_) => Ok(()),
        Err(OutputError::Closed) => Err(ToolError::Cancelled),
        Err(error) => {
            log::info!("no chunk for a batch: {error}");
            Ok(())
        }
    }
}

/// The first free hour of the emptiest day, the earliest of those.
fn best(days: &[Day]) -> Option<(&str, &str)> {
    let emptiest = days.iter().rev().max_by_key(|day| day.slots.len())?;
    Some((&emptiest.day, emptiest.slots.first()?))
}

fn create(day: &str, start: &str, title: &str) -> Result<Event, ToolError> {
    let options = CallOptions { purpose: Some(format!("put \"{title}\" into the calendar")), ..CallOptions::default() };
    let answer = agent_tools::call_raw(CREATE, &json!({ "day": day, "start": start, "title": title }), &options);
    let made = answer.and_then(|answer| {
        let Made { id, day, start, title } = answer.read()?;
        Ok(Event::Created { id, day, start, title, edited: answer.edited.is_some() })
    });
    match made {
        Err(AgentError::Cancelled) => Err(ToolError::Cancelled),
        made => Ok(made.unwrap_or_else(|error| Event::NotCreated { reason: error.to_string() })),
    }
}
