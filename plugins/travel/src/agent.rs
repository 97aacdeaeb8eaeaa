//! The travel agent at work.

use portcullis_guest::client::{self, Answer};
use portcullis_guest::{Context, Form, ToolError, log, progress};

use crate::bookings::{self, Booking};
use crate::offer::Offer;

/// What the user is asked.
#[derive(Form)]
struct Confirmation {
    /// Book it at this price.
    confirm: bool,
    /// Wishes, or why not.
    #[form(length(max = 500))]
    notes: Option<String>,
}

/// Finds, asks, books.
pub(crate) fn travel(ctx: &Context, destination: &str) -> Result<String, ToolError> {
    let destination = destination.split_whitespace().collect::<Vec<_>>().join(" ");
    if destination.is_empty() {
        return Err(ToolError::invalid("destination is empty"));
    }
    // Before the user is bothered with a question that could not be acted upon.
    let folder = bookings::folder()?;

    report(0, "looking for flights");
    let mut offer = Offer::to(&destination);
    report(25, "looking for dates");
    offer.find_date();
    report(50, "comparing prices");
    let price = offer.price();

    let question = client::form::<Confirmation>(format!("Confirm {price} for {destination}?"));
    // Here the tool ends, by `?`, for a client that cannot show forms. Nothing has been done yet.
    let notes = match question.key("confirm_booking").ask()? {
        Answer::Accepted(Confirmation { confirm: true, notes }) => notes.unwrap_or_default(),
        Answer::Accepted(Confirmation { confirm: false, notes }) => {
            let why = notes.unwrap_or_else(|| "not confirmed".into());
            return Ok(format!("Booking cancelled: {why}"));
        }
        Answer::Declined => return Ok("Booking cancelled: the user declined.".into()),
        Answer::Cancelled => return Ok("Nothing is booked: nobody has answered the question.".into()),
    };

    report(75, "booking");
    let Offer { flight, weeks, .. } = &offer;
    let (call, principal) = (ctx.id.as_str(), ctx.principal.as_str());
    bookings::add(&folder, &Booking { destination: &destination, flight, price, notes: &notes, call, principal })?;
    report(100, "booked");

    let mut booked = format!("Booked {destination} for {price}: flight {flight}, {weeks} weeks from now.");
    if !notes.is_empty() {
        booked = format!("{booked} Notes: {notes}");
    }
    Ok(match summary(&booked) {
        Some(summary) => format!("{booked}\n\n{summary}"),
        None => booked,
    })
}

fn report(percent: u8, what: &str) {
    progress::report_with(percent.into(), Some(100.0), what);
}

/// A sentence of the client's model, if there is one. The trip is booked by now: what goes wrong here costs the sentence
/// and nothing else.
fn summary(booked: &str) -> Option<String> {
    if !client::supported().sample {
        return None;
    }
    let question = client::sample(format!("Sum up this booking in one friendly sentence: {booked}"))
        .max_tokens(60)
        .purpose("sum up the booking")
        .key("booking_summary");
    match question.ask() {
        Ok(answer) => Some(answer.text().trim().to_owned()).filter(|text| !text.is_empty()),
        Err(error) => {
            log::info!("no summary: {error}");
            None
        }
    }
}
