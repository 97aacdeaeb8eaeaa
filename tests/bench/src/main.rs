//! `bench`: compares Portcullis with a native MCP server that has the same tools, in one run and round by round, so
//! that other load on the machine affects both. Prints absolute numbers, ratios and the targets. A missed target is a
//! result, not a failure; a wrong answer is a failure.

mod client;
mod contender;
mod grid;
mod lab;
mod language;
mod markdown;
mod measure;
mod percentile;
mod plugins;
mod procfs;
mod report;
mod scenario;
mod server;
mod svg;
mod table;
mod unit;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;

use lab::{Effort, Lab};
use report::Report;

/// Measures Portcullis beside a native MCP server with the same tools.
#[derive(Parser)]
struct Arguments {
    /// The `portcullis` program; a release build, or the figures mean nothing.
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    portcullis: Option<PathBuf>,
    /// The folder with `hello.wasm`, `planner.wasm`, `calendar.wasm`, `code.wasm`, `toolbox.wasm` and `bench.wasm`.
    #[arg(long, value_name = "FOLDER", required_unless_present = "from")]
    plugins: Option<PathBuf>,
    /// The `native-echo` program; by default the one beside this program.
    #[arg(long, value_name = "FILE")]
    native: Option<PathBuf>,
    /// Fewer and shorter rounds: about a quarter of the time, more noise.
    #[arg(long)]
    quick: bool,
    /// Measures only the scenarios whose names contain one of these, separated by commas: echo, load, and so on; a wrong
    /// name prints all of them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// The ordinary user who also runs a server, if the benchmark runs as root; by default `nobody`.
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    /// The interpreter that has FastMCP, to measure its code mode, too.
    #[arg(long, value_name = "PYTHON")]
    fastmcp: Option<PathBuf>,
    /// The numbers of plugins to start with, such as `1,50`.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    counts: Vec<usize>,
    /// Also writes the figures to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measures nothing, and shows the figures of such a file again.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Also replaces the table in this Markdown file, between the comments `bench:begin` and `bench:end`. It shows the
    /// pictures, too, if they are in a folder beside the file.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also draws pictures into this folder.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

// One thread, so that the other cores are free for the servers.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode> {
    let report = match &arguments.from {
        Some(file) => {
            let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("{} has no figures", file.display()))?
        }
        None => measured(&arguments).await?,
    };
    table::print(&report)?;
    if let Some(path) = arguments.json {
        let json = serde_json::to_string_pretty(&report)? + "\n";
        fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let pictures = match arguments.svg {
        Some(folder) => svg::write_all(&report, &folder)?,
        None => Vec::new(),
    };
    if let Some(path) = arguments.markdown {
        markdown::update(&report, &pictures, &path)?;
    }
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measured(arguments: &Arguments) -> Result<Report> {
    let native = match &arguments.native {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("native-echo"),
    };
    let (Some(portcullis), Some(plugins)) = (&arguments.portcullis, &arguments.plugins) else {
        bail!("there is nothing to measure");
    };
    let effort = Effort::new(arguments.quick, arguments.counts.clone());
    let mut lab = Lab::new(portcullis, &native, plugins, effort, arguments.user.clone())?;
    lab.fastmcp.clone_from(&arguments.fastmcp);
    let mut report = Report::new(arguments.quick);
    if portcullis.components().any(|part| part.as_os_str() == "debug") {
        report.notes.push("this is a debug build of portcullis: compare with nothing".into());
    }
    let begin = Instant::now();
    scenario::run_all(&lab, &mut report, &arguments.only).await?;
    eprintln!("measured for {} s", begin.elapsed().as_secs());
    Ok(report)
}
