//! How often an idle server wakes up: what it costs a laptop's battery when nobody calls.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use super::settle::SETTLE;
use crate::client::Template;
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::procfs::Sleeps;
use crate::report::{Report, Target, Unit};
use crate::server::Transport;

const SECTION: &str = "wake-ups of an idle server";

/// How long nobody calls.
const QUIET: Duration = Duration::from_secs(5);

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let rounds = if lab.effort.quick { 1 } else { 2 };
    for transport in Transport::USUAL {
        let name = format!("{SECTION}, over {}", transport.name());
        let mut race = Race::line_up(name, &Contender::COMPARED, report, async |contender| {
            let mut server = lab.start(contender, Set::Bench, transport).await?;
            let mut client = server.connect().await?;
            // A server that has served a call has all its threads.
            client.ask(&Template::echo(contender.tool("echo"))).await.map_err(|error| server.explain(&error))?;
            Ok((server, client))
        })
        .await;
        let [woken] = race.run(report, 0, rounds, async |_, (server, _)| wake_ups(server.pid()?).await).await;
        report.row(SECTION, &format!("over {}", transport.name()), Unit::WakeUps, woken, Some(Target::AtMost(2.0)));
    }
}

/// Wake-ups per second.
async fn wake_ups(pid: u32) -> Result<[f64; 1]> {
    sleep(SETTLE).await;
    let (before, begin) = (Sleeps::of(pid)?, Instant::now());
    sleep(QUIET).await;
    let woken = Sleeps::of(pid)?.since(&before);
    Ok([woken as f64 / begin.elapsed().as_secs_f64()])
}
