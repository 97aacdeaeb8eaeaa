//! The same echo in plugins of three languages, over stdio, and what each costs beside the one in Rust.

use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::plugins::{Language, Set};
use crate::report::{Report, Samples, Target, Unit, divided};
use crate::server::Transport;

use super::lane::{EchoLane, IN_FLIGHT};

const SECTION: &str = "echo by the plugin's language, over stdio";

/// The native server runs no plugin.
const CONTENDERS: [Contender; 2] = [Contender::Fuel, Contender::Ticks];

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let effort = &lab.effort;
    // The second meter doubles the time to compile, which is most of this.
    let contenders = if effort.quick { &CONTENDERS[..1] } else { &CONTENDERS };
    let mut rust: Option<[Samples; 2]> = None;
    for language in Language::ALL {
        let name = format!("{language:?}");
        if !lab.has(language) {
            report.notes.push(format!("the plugin in {name} was not built, and is not measured"));
            continue;
        }
        // It takes minutes to compile a component that carries a whole interpreter.
        for &contender in contenders {
            if let Err(error) = lab.compile(contender, Set::Guest(language)).await {
                report.fail(&format!("{SECTION}, compiling {name}"), contender, &error);
            }
        }
        let mut race = Race::line_up(format!("{SECTION}: {name}"), contenders, report, async |contender| {
            EchoLane::new(lab.start(contender, Set::Guest(language), Transport::Stdio).await?, contender).await
        })
        .await;
        // An interpreter takes longer for each call.
        let share = match language {
            Language::Rust => 1,
            Language::JavaScript => 4,
            Language::Python => 16,
        };
        let [p50, _, _] =
            race.run(report, 1, effort.rounds, async |_, lane| lane.sequential(effort.sequential / share).await).await;
        let [rate, _] = race
            .run(report, 1, effort.rounds, async |_, lane| lane.together(IN_FLIGHT, effort.crowd / 4 / share).await)
            .await;
        let times =
            rust.as_ref().map(|[p50_of_rust, rate_of_rust]| [divided(&p50, p50_of_rust), divided(&rate, rate_of_rust)]);
        if rust.is_none() && language == Language::Rust {
            rust = Some([p50.clone(), rate.clone()]);
        }
        report.row(SECTION, &format!("{name}, p50"), Unit::Microseconds, p50, None);
        report.row(SECTION, &format!("{name}, {IN_FLIGHT} in flight"), Unit::PerSecond, rate, None);
        if let Some([p50, rate]) = times {
            let target = match language {
                Language::Rust => None,
                Language::JavaScript => Some(Target::AtMost(3.0)),
                Language::Python => Some(Target::AtMost(8.0)),
            };
            report.row(SECTION, "  p50, of that of Rust", Unit::Times, p50, target).detail();
            report.row(SECTION, "  calls per second, of those of Rust", Unit::Times, rate, None).detail();
        }
    }
}
