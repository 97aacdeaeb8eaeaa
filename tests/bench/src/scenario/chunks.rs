//! Chunks per second of one call, for a client that accepts partial results.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::client::{Client, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::report::{Report, Unit};
use crate::server::{Server, Transport};

/// Bytes of text in one chunk: a line or two of output.
const BYTES: u64 = 256;

struct Lane {
    server: Server,
    client: Client,
    call: Template,
}

#[derive(Deserialize)]
struct Notification {
    method: String,
    params: Partial,
}

#[derive(Deserialize)]
struct Partial {
    seq: u64,
    content: Vec<Content>,
    #[serde(default, rename = "final")]
    is_end: bool,
}

#[derive(Deserialize)]
struct Content {
    text: String,
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let count = lab.effort.chunks;
    for transport in Transport::ALL {
        let name = format!("chunks of {BYTES} bytes, one call");
        let mut race =
            Race::line_up(format!("{name}, over {}", transport.name()), &Contender::ALL, report, async |contender| {
                let mut server = lab.start(contender, Set::Bench, transport).await?;
                let client = server.connect().await?;
                let arguments = json!({"n": count, "bytes": BYTES});
                Ok(Lane { server, client, call: Template::streaming_call(contender.tool("chunks"), arguments) })
            })
            .await;
        let [rate] = race
            .run(report, 1, lab.effort.rounds, async |_, lane| {
                stream(lane, count).await.map_err(|error| lane.server.explain(&error))
            })
            .await;
        report.row(&name, &format!("over {}", transport.name()), Unit::PerSecond, rate, None);
    }
}

/// Measures chunks per second; every chunk must arrive, in order and complete.
async fn stream(lane: &mut Lane, count: u64) -> Result<[f64; 1]> {
    let mut seen = 0;
    let begin = Instant::now();
    let answer = lane
        .client
        .exchange(&lane.call, |message| {
            let notification: Notification = serde_json::from_slice(message)
                .with_context(|| format!("not a chunk: {}", String::from_utf8_lossy(message)))?;
            ensure!(
                notification.method == "notifications/dev.portcullis/partial_result",
                "got {}",
                notification.method
            );
            ensure!(notification.params.seq == seen, "chunk {} came instead of {seen}", notification.params.seq);
            if notification.params.is_end {
                return Ok(());
            }
            let bytes: usize = notification.params.content.iter().map(|content| content.text.len()).sum();
            ensure!(bytes as u64 == BYTES, "chunk {seen} has {bytes} bytes instead of {BYTES}");
            seen += 1;
            Ok(())
        })
        .await?;
    let elapsed = begin.elapsed().as_secs_f64();
    ensure!(answer.text == count.to_string(), "the tool says it sent {} chunks instead of {count}", answer.text);
    ensure!(seen == count, "{seen} chunks arrived instead of {count}");
    Ok([count as f64 / elapsed])
}
