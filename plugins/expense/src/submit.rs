//! A submission, from the question to the effect.

use portcullis_guest::client::{self, Answer};
use portcullis_guest::{Context, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::receipts::{self, Receipt};
use crate::submissions::{self, Submission};
use crate::table;

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// Submitted now.
    Submitted(Submission),
    /// Under this key something was submitted before; nothing was done now.
    SubmittedBefore(Submission),
    /// Nothing was done; says why.
    NotSubmitted { reason: String },
}

/// Asks which, submits them.
pub(crate) fn receipts(ctx: &Context, key: &str) -> Result<Outcome, ToolError> {
    let folder = table::folder()?;
    let place = submissions::place(&folder, &ctx.principal, key);
    if let Some(before) = submissions::read(&place)? {
        return Ok(Outcome::SubmittedBefore(before));
    }
    let open = submissions::open(&folder)?;
    if open.is_empty() {
        return Ok(not_submitted("no receipt is open"));
    }
    let picked = match pick(&open)? {
        Answer::Accepted(picked) => picked,
        Answer::Declined => return Ok(not_submitted("the user declined")),
        Answer::Cancelled => return Ok(not_submitted("the user closed the question")),
    };
    // While the user thought, another call may have submitted some of them.
    let mut receipts = submissions::open(&folder)?;
    receipts.retain(|receipt| picked.contains(&receipt.id));
    if receipts.is_empty() {
        return Ok(not_submitted("no open receipt was picked"));
    }
    let cents = receipts.iter().map(|receipt| receipt.cents).sum();
    let submission = Submission { key: key.to_owned(), receipts, cents };
    Ok(match submissions::make(&place, &ctx.id, &submission)? {
        None => Outcome::Submitted(submission),
        Some(before) => Outcome::SubmittedBefore(before),
    })
}

fn not_submitted(reason: &str) -> Outcome {
    Outcome::NotSubmitted { reason: reason.to_owned() }
}

/// A list to tick, made of what is open. A client that cannot show it ends the tool here; nothing has been done yet.
fn pick(open: &[Receipt]) -> Result<Answer<Vec<String>>, ToolError> {
    let choice = |receipt: &Receipt| {
        let Receipt { id, date, what, cents } = receipt;
        json!({ "const": id, "title": format!("{date}: {what}, {}", receipts::amount(*cents)) })
    };
    let choices: Vec<Value> = open.iter().map(choice).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "receipts": { "type": "array", "title": "Receipts", "items": { "anyOf": choices }, "minItems": 1 }
        },
        "required": ["receipts"],
    });
    let answer = client::raw_form("Which receipts shall be submitted?", schema).key("receipts").ask()?;
    Ok(match answer {
        Answer::Accepted(filled) => {
            let picked = filled["receipts"].as_array().into_iter().flatten();
            Answer::Accepted(picked.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Answer::Declined => Answer::Declined,
        Answer::Cancelled => Answer::Cancelled,
    })
}
