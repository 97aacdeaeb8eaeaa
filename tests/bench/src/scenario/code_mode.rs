//! Code mode: programs that call tools, in a server with five hundred of them, beside FastMCP's code mode.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;

use crate::client::{Client, Template};
use crate::contender::Contender;
use crate::grid::{Column, Grid, Line};
use crate::lab::Lab;
use crate::measure::patiently;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::procfs;
use crate::report::{Report, Unit};
use crate::server::{Server, Transport};

const TITLE: &str = "code mode with 500 tools, over stdio";

/// The default meter.
const CONTENDER: Contender = Contender::Fuel;

/// Calls of tools in a program that makes any.
const CALLS: usize = 100;

/// What differs between the two servers for who calls them.
struct Dialect {
    name: &'static str,
    /// The tool that runs a program.
    tool: &'static str,
    /// Programs that return 1, and the sum of what [`CALLS`] calls return.
    one: &'static str,
    calls: &'static str,
}

const PORTCULLIS: Dialect = Dialect {
    name: "Portcullis",
    tool: "run_code",
    one: "return 1;",
    calls: "let total = 0;\nfor (let id = 0; id < 100; id++) total += (await tools.box0.read_order({ id, query: 'x' })).length;\nreturn total;",
};

const FASTMCP: Dialect = Dialect {
    name: "FastMCP",
    tool: "execute",
    one: "return 1",
    calls: "total = 0\nfor number in range(100):\n    total += (await call_tool('read_7', {'id': number, 'query': 'x'}))['length']\nreturn total",
};

/// A server, and its rounds so far: p50 of each program, the server's CPU time for the longer one.
struct Lane {
    dialect: &'static Dialect,
    server: Server,
    client: Client,
    /// ms of the start, KiB of the list of tools.
    once: [f64; 2],
    rounds: [Vec<f64>; 3],
}

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    if let Err(error) = lab.compile(CONTENDER, Set::CodeMode).await {
        report.fail(&format!("{TITLE}, compiling"), CONTENDER, &error);
        return;
    }
    let mut commands = vec![(&PORTCULLIS, lab.command(CONTENDER, Set::CodeMode, Transport::Stdio))];
    match &lab.fastmcp {
        Some(python) => commands.push((&FASTMCP, fastmcp(lab, python))),
        None => report.notes.push("FastMCP is not installed, and not measured".into()),
    }
    let mut lanes = Vec::new();
    for (dialect, command) in commands {
        eprintln!("measuring {TITLE}: {}", dialect.name);
        match patiently(async { start(dialect, command?).await }).await {
            Ok(lane) => lanes.push(lane),
            Err(error) => report.fail(&format!("{TITLE}: {}", dialect.name), CONTENDER, &error),
        }
    }
    for round in 0..=lab.effort.rounds {
        for mut lane in std::mem::take(&mut lanes) {
            match patiently(measure(&mut lane, round > 0)).await {
                Ok(()) => lanes.push(lane),
                Err(error) => report.fail(&format!("{TITLE}: {}", lane.dialect.name), CONTENDER, &error),
            }
        }
    }
    report.grids.push(Grid {
        title: TITLE.into(),
        columns: vec![
            Column::new("start to first list", Unit::Milliseconds).compared(),
            Column::new("list of tools", Unit::Kibibytes).compared(),
            Column::new("program without calls, p50", Unit::Microseconds).compared(),
            Column::new("with 100 calls, p50", Unit::Microseconds).compared(),
            Column::new("its CPU", Unit::Microseconds).compared(),
            Column::new("peak RSS", Unit::Mebibytes).compared(),
        ],
        lines: lanes.into_iter().map(line).collect(),
    });
}

fn line(mut lane: Lane) -> Line {
    let medians = lane.rounds.each_mut().map(|rounds| percentile(rounds, 50.0));
    let peak = lane.server.pid().and_then(procfs::peak).ok();
    let figures = lane.once.map(Some).into_iter().chain(medians).chain([peak]).collect();
    Line { name: lane.dialect.name.into(), figures, at_most: None }
}

fn fastmcp(lab: &Lab, python: &Path) -> Result<Command> {
    let script = lab.file("code_mode.py", include_str!("../../code_mode/server.py"))?;
    let mut command = Command::new(python);
    command.arg(script);
    Ok(command)
}

async fn start(dialect: &'static Dialect, command: Command) -> Result<Lane> {
    let begin = Instant::now();
    let mut server = Server::start(command, Transport::Stdio).await?;
    let mut client = server.connect().await?;
    let list = client.ask(&Template::list_tools()).await.map_err(|error| server.explain(&error))?;
    let start = begin.elapsed().as_secs_f64() * 1e3;
    let tools: serde_json::Value = serde_json::from_str(&list.text)?;
    let tools = tools["tools"].as_array().context("the list has no tools")?;
    ensure!(tools.len() == 3, "{} tools are listed in place of three", tools.len());
    let list = json!(tools).to_string().len() as f64 / 1024.0;
    Ok(Lane { dialect, server, client, once: [start, list], rounds: Default::default() })
}

async fn measure(lane: &mut Lane, counts: bool) -> Result<()> {
    let [short, _] = programs(lane, lane.dialect.one, 1, 20).await?;
    let [long, cpu] = programs(lane, lane.dialect.calls, CALLS, 10).await?;
    if counts {
        lane.rounds.iter_mut().zip([short, long, cpu]).for_each(|(rounds, figure)| rounds.push(figure));
    }
    Ok(())
}

/// Microseconds of a program that returns a number: p50, and the server's CPU time of each run.
async fn programs(lane: &mut Lane, code: &str, returns: usize, count: usize) -> Result<[f64; 2]> {
    let template = Template::call(lane.dialect.tool.into(), json!({ "code": code }));
    let mut samples = Vec::with_capacity(count);
    let cpu = lane.server.cpu_time()?;
    for _ in 0..count {
        let begin = Instant::now();
        let answer = lane.client.ask(&template).await.map_err(|error| lane.server.explain(&error))?;
        samples.push(begin.elapsed().as_secs_f64() * 1e6);
        let result = serde_json::from_str::<serde_json::Value>(&answer.text)?;
        let result = if result.is_object() { &result["result"] } else { &result };
        ensure!(result.as_u64() == Some(returns as u64), "the program returned {} in place of {returns}", answer.text);
    }
    let cpu = lane.server.cpu_time()?.saturating_sub(cpu);
    let p50 = percentile(&mut samples, 50.0).context("no samples")?;
    Ok([p50, cpu.as_secs_f64() * 1e6 / count as f64])
}
