//! Calls that wait for their clients' answers: the memory that each holds, and how long it takes to resume.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::settle::SETTLE;
use crate::client::{Client, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::procfs::{self, Resident};
use crate::report::{Report, Target, Unit};
use crate::server::{Server, Transport};

/// The default limit on waiting calls.
const CALLS: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    request_state: String,
}

#[derive(Deserialize)]
struct Said {
    content: [Text; 1],
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let section = format!("{CALLS} parked calls, over HTTP");
    // The native server asks no questions.
    let contenders = [Contender::Fuel, Contender::Ticks];
    let mut race = Race::line_up(&section, &contenders, report, async |_| Ok(())).await;
    let rounds = if lab.effort.rounds > 3 { 3 } else { 1 };
    let [guest, stack, rest, beyond, p50, p99, idle, parked, after] =
        race.run(report, 0, rounds, async |contender, ()| park(lab, contender).await).await;
    let each = Unit::Kibibytes;
    report.row(&section, "each: the guest's memory", each, guest, None).detail();
    report.row(&section, "each: beyond it", each, beyond, Some(Target::AtMost(48.0)));
    report.row(&section, "  of that, the stack", each, stack, None).detail();
    report.row(&section, "  of that, all else", each, rest, None).detail();
    report.row(&section, "going on, p50", Unit::Microseconds, p50, None);
    report.row(&section, "going on, p99", Unit::Microseconds, p99, None).detail();
    report.row(&section, "resident before", Unit::Mebibytes, idle, None).detail();
    report.row(&section, "resident with all parked", Unit::Mebibytes, parked, None).detail();
    report.row(&section, "resident after all are done", Unit::Mebibytes, after, None).detail();
}

async fn park(lab: &Lab, contender: Contender) -> Result<[f64; 9]> {
    let mut server = lab.start(contender, Set::Asking(CALLS), Transport::Http).await?;
    let mut client = server.connect().await?;
    let measured = measure(&server, &mut client, &contender.tool("ask")).await;
    let measured = measured.map_err(|error| server.explain(&error))?;
    server.stop().await?;
    Ok(measured)
}

async fn measure(server: &Server, client: &mut Client, tool: &str) -> Result<[f64; 9]> {
    // Memory that only the first call allocates is not counted.
    let state = begin(client, tool, 0).await?;
    finish(client, tool, 0, &state).await?;
    let before = settled(server).await?;
    let mut states = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        states.push(begin(client, tool, number).await?);
    }
    let with = settled(server).await?;
    let mut samples = Vec::with_capacity(CALLS);
    for (number, state) in states.iter().enumerate() {
        samples.push(finish(client, tool, number, state).await?);
    }
    let after = settled(server).await?;
    let each = |part: fn(&Resident) -> f64| (part(&with) - part(&before)) / CALLS as f64;
    let (total, guests, stacks) = (each(|r| r.total), each(|r| r.guests), each(|r| r.stacks));
    let [p50, p99] = [50.0, 99.0].map(|percent| percentile(&mut samples, percent));
    let [before, with, after] = [before, with, after].map(|resident| resident.total / 1024.0);
    let (p50, p99) = (p50.context("no samples")?, p99.context("no samples")?);
    Ok([guests, stacks, total - guests - stacks, total - guests, p50, p99, before, with, after])
}

async fn settled(server: &Server) -> Result<Resident> {
    sleep(SETTLE).await;
    procfs::resident(server.pid()?)
}

/// Calls the tool and receives its question; returns the state that resumes the call.
async fn begin(client: &mut Client, tool: &str, number: usize) -> Result<String> {
    let answer = client.ask(&Template::asking_call(tool, &json!({"n": number}), json!({}))).await?;
    let asked: Asked =
        serde_json::from_str(&answer.text).with_context(|| format!("no question, but {}", answer.text))?;
    Ok(asked.request_state)
}

/// Answers the question; returns the microseconds until the call was done.
async fn finish(client: &mut Client, tool: &str, number: usize, state: &str) -> Result<f64> {
    let content: Value = json!({"answer": format!("this of {number}")});
    let expected = format!("{number}: {content}");
    let responses = json!({"answer": {"action": "accept", "content": content}});
    let more = json!({"requestState": state, "inputResponses": responses});
    let retry = Template::asking_call(tool, &json!({"n": number}), more);
    let begin = Instant::now();
    let answer = client.ask(&retry).await?;
    let elapsed = begin.elapsed().as_secs_f64() * 1e6;
    let said: Said = serde_json::from_str(&answer.text).with_context(|| format!("no result, but {}", answer.text))?;
    let [Text { text }] = said.content;
    ensure!(text == expected, "call {number} said {text} instead of {expected}");
    Ok(elapsed)
}
