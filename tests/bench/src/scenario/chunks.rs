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
    for transport in Transport::USUAL {
        let name = format!("chunks of {BYTES} bytes, one call");
        let mut race = Race::line_up(
            format!("{name}, over {}", transport.name()),
            &Contender::COMPARED,
            report,
            async |contender| {
                let mut server = lab.start(contender, Set::Bench, transport).await?;
                let client = server.connect().await?;
                let arguments = json!({"n": count, "bytes": BYTES});
                Ok(Lane { server, client, call: Template::streaming_call(contender.tool("chunks"), arguments) })
            },
        )
        .await;
        let [rate] = race
            .run(report, 1, lab.effort.rounds, async |_, lane| {
                stream(lane, count).await.map_err(|error| lane.server.explain(&error))
            })
            .await;
        report.row(&name, &format!("over {}", transport.name()), Unit::PerSecond, rate, None).compared();
    }
}

/// Measures chunks per second; every chunk must arrive, in order and complete.
async fn stream(lane: &mut Lane, count: u64) -> Result<[f64; 1]> {
    let mut chunks = Chunks::new(BYTES);
    let begin = Instant::now();
    let answer = lane.client.exchange(&lane.call, |message| chunks.take(message)).await?;
    let elapsed = begin.elapsed().as_secs_f64();
    chunks.check(count, &answer.text)?;
    Ok([count as f64 / elapsed])
}

/// The chunks of one call that have arrived.
pub(super) struct Chunks {
    seen: u64,
    bytes: u64,
}

impl Chunks {
    pub(super) fn new(bytes: u64) -> Self {
        Self { seen: 0, bytes }
    }

    /// Takes the next message, which must be the next chunk or the end.
    pub(super) fn take(&mut self, message: &[u8]) -> Result<()> {
        let Notification { method, params } = serde_json::from_slice(message)
            .with_context(|| format!("not a chunk: {}", String::from_utf8_lossy(message)))?;
        ensure!(method == "notifications/dev.portcullis/partial_result", "got {method}");
        ensure!(params.seq == self.seen, "chunk {} came instead of {}", params.seq, self.seen);
        if params.is_end {
            return Ok(());
        }
        let bytes: usize = params.content.iter().map(|content| content.text.len()).sum();
        ensure!(bytes as u64 == self.bytes, "chunk {} has {bytes} bytes instead of {}", self.seen, self.bytes);
        self.seen += 1;
        Ok(())
    }

    /// All chunks must have arrived, and `said` is what the tool says.
    pub(super) fn check(&self, count: u64, said: &str) -> Result<()> {
        ensure!(said == count.to_string(), "the tool says it sent {said} chunks instead of {count}");
        ensure!(self.seen == count, "{} chunks arrived instead of {count}", self.seen);
        Ok(())
    }
}
