//! A client that reads chunks more slowly than a plugin makes them: it reads a piece, waits until the server stands
//! still, and reads on. The server must not keep what the client has not read.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::chunks::Chunks;
use crate::client::{Client, HttpClient, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Unit};
use crate::server::Transport;

const COUNT: u64 = 10_000;

/// Bytes of text in a chunk: all chunks are more than the kernel keeps for a slow reader.
const BYTES: u64 = 1_024;

/// Bytes that the client reads before it waits.
const PIECE: usize = 64 << 10;

/// Bytes that the kernel keeps for a client over HTTP, about as many as a pipe holds.
const WINDOW: u32 = 64 << 10;

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let section = format!("{COUNT} chunks of {BYTES} bytes to a slow reader");
    let rounds = lab.effort.rounds.min(3);
    for transport in Transport::USUAL {
        let name = transport.name();
        let contenders = Contender::COMPARED;
        let mut race = Race::line_up(format!("{section}, over {name}"), &contenders, report, async |_| Ok(())).await;
        let [time, peak] =
            race.run(report, 0, rounds, async |contender, ()| read(lab, contender, transport).await).await;
        report.row(&section, &format!("over {name}"), Unit::Milliseconds, time, None);
        report.row(&section, "  the server's peak, RSS", Unit::Mebibytes, peak, None);
    }
}

/// Milliseconds until everything was read, and the server's most memory in MiB.
async fn read(lab: &Lab, contender: Contender, transport: Transport) -> Result<[f64; 2]> {
    let mut server = lab.start(contender, Set::Bench, transport).await?;
    let mut client = match transport {
        Transport::Http => Client::Http(HttpClient::connect_with_window(server.address()?, WINDOW).await?),
        _ => server.connect().await?,
    };
    let call = Template::streaming_call(contender.tool("chunks"), json!({"n": COUNT, "bytes": BYTES}));
    let (pid, mut chunks) = (server.pid()?, Chunks::new(BYTES));
    let begin = Instant::now();
    let answer =
        client.exchange_slowly(&call, PIECE, async || procfs::stands_still(pid).await, |m| chunks.take(m)).await;
    let answer = answer.map_err(|error| server.explain(&error))?;
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    chunks.check(COUNT, &answer.text)?;
    let peak = procfs::peak(pid)?;
    ensure!(peak > 0.0, "the kernel does not know the peak");
    server.stop().await?;
    Ok([elapsed, peak])
}
