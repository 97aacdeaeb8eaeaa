//! The same plugin in each language: what it costs its author, an operator, and each call.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::process::Command;

use super::lane::{EchoLane, IN_FLIGHT};
use crate::client::Template;
use crate::contender::Contender;
use crate::grid::{Column, Grid, Line};
use crate::lab::Lab;
use crate::language::{GREETING, Language, NAME, run as portcullis};
use crate::measure::patiently;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::report::{Report, Unit};
use crate::server::{Server, Transport};

const TITLE: &str = "a plugin by its language, over stdio";

/// The default meter.
const CONTENDER: Contender = Contender::Fuel;

/// What one language has cost so far.
struct Plugin {
    language: Language,
    lane: EchoLane,
    /// KiB of the component, ms of building it again, from an empty cache to the first answer, of the first call of a later start, KiB of one call's memory.
    once: [f64; 5],
    /// Of each round: p50, CPU time of a call, calls per second.
    rounds: [Vec<f64>; 3],
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let mut plugins = Vec::new();
    for language in Language::ALL {
        eprintln!("making a plugin in {language}");
        match prepare(lab, language).await {
            Ok(plugin) => plugins.push(plugin),
            Err(error) => report.fail(&format!("{TITLE}: {language}"), CONTENDER, &error),
        }
    }
    // All take turns in a round, so that other load on the machine affects all of them.
    for round in 0..=lab.effort.rounds {
        for mut plugin in std::mem::take(&mut plugins) {
            match patiently(measure(lab, &mut plugin, round > 0)).await {
                Ok(()) => plugins.push(plugin),
                Err(error) => report.fail(&format!("{TITLE}: {}", plugin.language), CONTENDER, &error),
            }
        }
    }
    report.grids.push(Grid {
        title: TITLE.into(),
        columns: vec![
            Column::new("component", Unit::Kibibytes),
            Column::new("built after a change", Unit::Milliseconds),
            Column::new("installed and called", Unit::Milliseconds),
            Column::new("first call of a later start", Unit::Milliseconds),
            Column::new("memory of a call", Unit::Kibibytes),
            Column::new("warm, p50", Unit::Microseconds).compared(),
            Column::new("CPU", Unit::Microseconds).compared(),
            Column::new(&format!("{IN_FLIGHT} in flight"), Unit::PerSecond),
        ],
        lines: plugins.into_iter().map(line).collect(),
    });
}

fn line(mut plugin: Plugin) -> Line {
    let at_most = match plugin.language {
        Language::Rust => None,
        Language::C | Language::Go | Language::JavaScript => Some(2.0),
        Language::Python => Some(3.0),
    };
    let medians = plugin.rounds.each_mut().map(|rounds| percentile(rounds, 50.0));
    let figures = plugin.once.map(Some).into_iter().chain(medians).collect();
    Line { name: plugin.language.to_string(), figures, at_most }
}

async fn prepare(lab: &Lab, language: Language) -> Result<Plugin> {
    let (program, projects) = lab.author();
    let again = language.build_again(program, &projects).await?;
    let component = language.component(&projects);
    let size = fs::metadata(&component)?.len() as f64 / 1024.0;
    let set = Set::Language(language);
    let [start, first] = started(lab.cold_command(CONTENDER, set, Transport::Stdio)?).await?;
    let installed = start + first;
    started(lab.command(CONTENDER, set, Transport::Stdio)?).await?;
    let [_, first] = started(lab.command(CONTENDER, set, Transport::Stdio)?).await?;
    let memory = memory(program, &component).await?;
    let lane = EchoLane::with(lab.start(CONTENDER, set, Transport::Stdio).await?, greeting()).await?;
    let once = [size, again.as_secs_f64() * 1e3, installed, first, memory];
    Ok(Plugin { language, lane, once, rounds: Default::default() })
}

fn greeting() -> Template {
    Template::greeting(CONTENDER.tool("greet"), GREETING)
}

/// Milliseconds from the start of a server to its first list, and of the first call, which waits until the plugin is compiled.
async fn started(command: Command) -> Result<[f64; 2]> {
    let begin = Instant::now();
    let mut server = Server::start(command, Transport::Stdio).await?;
    let mut client = server.connect().await?;
    client.ask(&Template::list_tools()).await.map_err(|error| server.explain(&error))?;
    let listed = begin.elapsed();
    client.ask(&greeting()).await.map_err(|error| server.explain(&error))?;
    let called = begin.elapsed() - listed;
    drop(client);
    server.stop().await?;
    Ok([listed, called].map(|elapsed| elapsed.as_secs_f64() * 1e3))
}

/// KiB of linear memory that a call has at its end, as the host counts it.
async fn memory(program: &Path, component: &Path) -> Result<f64> {
    let folder = component.parent().context("a component is in a folder")?;
    let printed = portcullis(program, &["call", "--json", NAME, "greet", "name=Ada"], folder).await?;
    let printed: Value = serde_json::from_slice(&printed).context("`portcullis call --json` prints no JSON")?;
    let bytes = printed["_meta"]["dev.portcullis/usage"]["peakMemory"].as_f64();
    Ok(bytes.context("`portcullis call --json` prints no peakMemory")? / 1024.0)
}

async fn measure(lab: &Lab, plugin: &mut Plugin, counts: bool) -> Result<()> {
    // An interpreter takes longer for each call.
    let share = match plugin.language {
        Language::Rust | Language::C => 1,
        Language::Go | Language::JavaScript => 4,
        Language::Python => 16,
    };
    let [p50, _, cpu] = plugin.lane.sequential(lab.effort.sequential / share).await?;
    let [rate, _] = plugin.lane.together(IN_FLIGHT, lab.effort.crowd / 4 / share).await?;
    if counts {
        plugin.rounds.iter_mut().zip([p50, cpu, rate]).for_each(|(rounds, figure)| rounds.push(figure));
    }
    Ok(())
}
