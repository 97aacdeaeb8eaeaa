//! How costs grow with calls in flight, over HTTP.

use super::echo::give_answer;
use super::lane::EchoLane;
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::Set;
use crate::report::{Report, Series, Unit};
use crate::server::Transport;

const SECTION: &str = "echo over HTTP, by calls in flight";

const IN_FLIGHT: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

const CONTENDERS: [Contender; 3] = [Contender::Native, Contender::Floor, Contender::Fuel];

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let mut race = Race::line_up(SECTION, &CONTENDERS, report, async |contender| {
        if contender == Contender::Floor {
            give_answer(lab).await?;
        }
        EchoLane::new(lab.start(contender, Set::Bench, Transport::Http).await?, contender).await
    })
    .await;
    let rounds = lab.effort.rounds.min(5);
    for in_flight in IN_FLIGHT {
        // One at a time is slow, and fewer calls tell as much.
        let count = lab.effort.crowd / if in_flight == 1 { 8 } else { 2 };
        let [rate, cpu] = race.run(report, 1, rounds, async |_, lane| lane.together(in_flight, count).await).await;
        report
            .row(SECTION, &format!("{in_flight} in flight"), Unit::PerSecond, rate, None)
            .detail()
            .at(Series::RateByLoad, in_flight);
        report.row(SECTION, "  CPU per call", Unit::Microseconds, cpu, None).detail().at(Series::CpuByLoad, in_flight);
    }
}
