//! `portcullis audit`: what was decided, and whether the record of it is whole.

use super::ConfigFile;
use crate::config::Config;
use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use platform::audit::{self, Entry, Filter, Head};
use platform::clock::{Clock, SystemClock};
use platform::telemetry::printable;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

/// How often a journal that is followed is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Fields that have a column of their own.
const COLUMNS: [&str; 9] = ["seq", "time", "event", "principal", "plugin", "digest", "call", "parent", "hash"];

#[derive(Subcommand)]
pub(super) enum Audit {
    /// Print the last records.
    Tail(Tail),
    /// Check that no record was changed, taken out, moved or cut off.
    Verify(Verify),
    /// Print all records, or those of some time.
    Export(Export),
}

#[derive(Args)]
pub(super) struct Tail {
    /// How many.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Go on with what comes.
    #[arg(long, short)]
    follow: bool,
    /// Print the lines as they are kept.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Args)]
struct About {
    /// Only of this plugin, by name or by table.
    #[arg(long)]
    plugin: Option<String>,
    /// Only on behalf of this principal, such as `key:alice`.
    #[arg(long)]
    principal: Option<String>,
}

#[derive(Args)]
pub(super) struct Verify {
    /// A head that was noted elsewhere, as this command prints it: the journal must hold that very record.
    #[arg(long, value_name = "NUMBER:HASH")]
    head: Option<Head>,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Args)]
pub(super) struct Export {
    /// From then on: a time such as 2026-11-22T06:00:00Z, or how long ago, such as 24h.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Up to then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The lines as they are kept.
    Jsonl,
    /// A table; what has no column of its own is JSON in the last one.
    Csv,
}

impl Audit {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Tail(command) => command.run().await?,
            Self::Verify(command) => command.run()?,
            Self::Export(command) => command.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn folder(file: &ConfigFile) -> anyhow::Result<PathBuf> {
    let folder = Config::load(&file.config)?.audit.folder;
    let folder =
        folder.context("no folder for the journal: set server.audit.folder, server.state or PORTCULLIS_STATE")?;
    anyhow::ensure!(folder.is_dir(), "there is no journal in {}: nothing was recorded yet", folder.display());
    Ok(folder)
}

impl Tail {
    async fn run(self) -> anyhow::Result<()> {
        let folder = folder(&self.file)?;
        let filter = self.about.filter();
        let (entries, mut follower) = audit::last(&folder, self.lines, &filter)?;
        let print = |entry: &Entry| println!("{}", if self.json { entry.line.clone() } else { words(entry) });
        entries.iter().for_each(print);
        let mut look = tokio::time::interval(LOOK);
        if !self.follow {
            return Ok(());
        }
        loop {
            tokio::select! {
                _ = look.tick() => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
            follower.more()?.iter().filter(|entry| filter.admits(entry)).for_each(print);
        }
    }
}

impl About {
    fn filter(&self) -> Filter {
        Filter { plugin: self.plugin.clone(), principal: self.principal.clone(), ..Filter::default() }
    }
}

impl Verify {
    fn run(self) -> anyhow::Result<()> {
        let report = audit::verify(&folder(&self.file)?, self.head)?;
        let files = if report.files == 1 { "1 file".to_owned() } else { format!("{} files", report.files) };
        println!("whole: records {} to {} in {files}", report.first, report.head.seq);
        if report.torn > 0 {
            println!(
                "after them {} bytes of a line that a crash has cut off; the next record takes them off",
                report.torn
            );
        }
        println!("head: {}", report.head);
        Ok(())
    }
}

impl Export {
    fn run(self) -> anyhow::Result<()> {
        let time = |text: &Option<String>| text.as_deref().map(moment).transpose();
        let filter = Filter { since: time(&self.since)?, until: time(&self.until)?, ..self.about.filter() };
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if let Format::Csv = self.format {
            writeln!(out, "{},detail", COLUMNS.join(","))?;
        }
        audit::each(&folder(&self.file)?, &filter, |entry| match self.format {
            Format::Jsonl => writeln!(out, "{}", entry.line),
            Format::Csv => writeln!(out, "{}", row(&entry)),
        })?;
        Ok(out.flush()?)
    }
}

/// A time, or how long ago, since 1970.
fn moment(text: &str) -> anyhow::Result<Duration> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(SystemClock.unix().saturating_sub(ago));
    }
    let time = humantime::parse_rfc3339_weak(text).ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.with_context(|| format!("`{text}` is no time; write such as 2026-11-22T06:00:00Z, or 24h for a day ago"))
}

/// A record for a person.
fn words(entry: &Entry) -> String {
    if !entry.is_sound() {
        return format!("changed: {}", printable(&entry.line));
    }
    let head = ["time", "seq", "event", "plugin", "principal"].map(|name| entry.text(name));
    let mut line = head.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    for (name, _) in details(entry) {
        line += &format!(" {name}={}", entry.text(name));
    }
    printable(&line).into_owned()
}

/// What has no column of its own; the hash of the line before is of no use to a person.
fn details(entry: &Entry) -> impl Iterator<Item = (&String, &serde_json::Value)> {
    entry.fields.iter().filter(|(name, _)| !COLUMNS.contains(&name.as_str()) && *name != "prev")
}

fn row(entry: &Entry) -> String {
    let detail: serde_json::Map<_, _> = details(entry).map(|(name, value)| (name.clone(), value.clone())).collect();
    let cells = COLUMNS.map(|name| cell(&entry.text(name))).into_iter();
    cells.chain([cell(&serde_json::Value::Object(detail).to_string())]).collect::<Vec<_>>().join(",")
}

/// Quoted where CSV wants it; a text that a spreadsheet would take for a formula is made one that it does not.
fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_texts() {
        assert_eq!(cell("plain"), "plain");
        assert_eq!(cell("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
    }

    #[test]
    fn times_are_points_or_distances() {
        assert_eq!(moment("1970-01-02T00:00:00Z").unwrap(), Duration::from_secs(86_400));
        assert!(moment("1h").unwrap() < SystemClock.unix());
        assert!(moment("yesterday").is_err());
    }
}
