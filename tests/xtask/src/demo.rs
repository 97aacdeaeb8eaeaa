//! `cargo xtask demo`: a sandboxed tool through a real MCP client and then from the command line, followed by
//! installing and updating a third-party plugin; `demo agent` shows the agent's side of reverse calls.

mod agent;
mod install;

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::command::{check, step};
use crate::repo::Repo;
use crate::server::Server;
use crate::{needs, setup};

/// The plugins that are shown: `survey` calls `notes` back, and `files` is what is installed.
const PLUGINS: [&str; 4] = ["hello", "files", "survey", "notes"];

/// The guests of `tests/guests` that the demo shows being stopped.
const GUESTS: [&str; 2] = ["spin", "eat-memory"];

/// Lines of the command line's output that are shown: enough to understand it without listing every folder.
const HEAD: usize = 6;

/// The demos.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Demo {
    /// A sandboxed tool that reads this repository's own files, then the installation of a plugin.
    Tools,
    /// Only the installation: a plugin is installed at a terminal, and its next version requests more access.
    Install,
    /// `portcullis agent` at a terminal: a server's tool calls the local calendar, and an event triggers a tool call.
    Agent,
}

pub(crate) fn run(repo: &Repo, demo: Demo) -> Result<()> {
    needs::of_demo(repo)?;
    match demo {
        Demo::Tools => tools(repo),
        Demo::Install => install::run(repo),
        Demo::Agent => agent::run(repo),
    }
}

/// Sets up, builds, and runs both halves; fails when the output differs from what the demo expects.
fn tools(repo: &Repo) -> Result<()> {
    setup::for_demo(repo, &PLUGINS, &GUESTS)?;
    let config = repo.clients().join("demo.toml");
    let folder = repo.target.join("demo");
    let notes = empty_notes(&folder)?;
    let server =
        step("starting the server", || Server::start(&mut repo.portcullis(), &config, &folder.join("server.log")))?;
    if let Err(error) = with_client(repo, &server, &notes) {
        bail!("{error:#}\nThe server's log ({}) ends with:\n{}", repo.show(&server.log), server.last_words());
    }
    drop(server);
    without_client(repo, &config)?;
    install::show(repo)?;
    let portcullis = repo.binary("debug", "portcullis");
    println!("To look further: {} --help; the configuration: {}", repo.show(&portcullis), repo.show(&config));
    Ok(())
}

/// A fresh folder for the notes, so that the note shown is this run's.
fn empty_notes(folder: &Path) -> Result<PathBuf> {
    let notes = folder.join("notes");
    if notes.exists() {
        fs::remove_dir_all(&notes).with_context(|| format!("cannot empty {}", notes.display()))?;
    }
    fs::create_dir_all(&notes).with_context(|| format!("cannot make {}", notes.display()))?;
    Ok(notes)
}

fn with_client(repo: &Repo, server: &Server, notes: &Path) -> Result<()> {
    let mut client = Command::new(repo.python());
    client.arg("-B").arg(repo.clients().join("demo.py")).arg(&server.url).arg(notes);
    // Python writes UTF-8 even where the locale sets no encoding.
    check(client.env("PYTHONIOENCODING", "utf-8").current_dir(&repo.root))
}

fn without_client(repo: &Repo, config: &Path) -> Result<()> {
    let args = ["call", "survey", "survey", r#"{"path":"/src"}"#, "--config"];
    let shown = format!("portcullis call survey survey '{}' --config {}", args[3], repo.show(config));
    println!("\n{}", bold("The same job without any client"));
    println!("  $ {shown}");
    let out = repo.portcullis().args(args).arg(config).output().context("cannot start portcullis")?;
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    if !out.status.success() {
        bail!("{shown} failed ({}):\n{stderr}", out.status);
    }
    let lines: Vec<_> = stdout.lines().filter(|line| !line.trim().is_empty()).collect();
    ensure!(lines.len() > 1, "{shown} printed no chunks:\n{stdout}{stderr}");
    for line in lines.iter().take(HEAD) {
        println!("  {}", line.chars().take(110).collect::<String>());
    }
    if lines.len() > HEAD {
        println!("  … {} more lines", lines.len() - HEAD);
    }
    let usage = stderr.lines().rev().find(|line| line.contains("fuel")).context("no usage line on stderr")?;
    println!("  {}", usage.trim());
    Ok(())
}

fn bold(text: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !std::io::stdout().is_terminal();
    if plain { text.to_owned() } else { format!("\x1b[1m{text}\x1b[0m") }
}
