//! `portcullis audit`: reads and verifies the audit log.

use super::options::ConfigFile;
use super::out::print_json;
use crate::config::Config;
use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use platform::audit::{self, AuditLogEntry, EntryFilter, Head};
use platform::clock::{Clock, SystemClock};
use platform::telemetry::{escape_json, printable};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

/// How often a followed log is read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// Fields with a column of their own.
const COLUMNS: [&str; 9] = ["seq", "time", "event", "principal", "plugin", "digest", "call", "parent", "hash"];
/// Further columns of a table.
const TABLE_COLUMNS: [&str; 2] = ["tool", "outcome"];

#[derive(Subcommand)]
pub(super) enum AuditCommand {
    /// Print the last records.
    Tail(Tail),
    /// Verify that no record was changed, removed, moved or cut off.
    Verify(Verify),
    /// Print all records, or those of a time range.
    Export(Export),
}

#[derive(Args)]
pub(super) struct Tail {
    /// Number of records.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Continue with new records as they are written.
    #[arg(long, short)]
    follow: bool,
    /// Print the stored lines: JSON, one record in each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Args)]
struct About {
    /// Only records of this plugin, by name or by table.
    #[arg(long)]
    plugin: Option<String>,
    /// Only records of this principal, such as `key:alice`.
    #[arg(long)]
    principal: Option<String>,
}

#[derive(Args)]
pub(super) struct Verify {
    /// A head that this command has printed before: the audit log must contain that record unchanged.
    #[arg(long, value_name = "NUMBER:HASH")]
    head: Option<Head>,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Args)]
pub(super) struct Export {
    /// Start of the range: a day such as 2026-11-22, a time such as 2026-11-22T06:00:00Z (both UTC), or an age such as 24h.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End of the range.
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
    /// The stored lines: JSON, one record in each.
    Jsonl,
    /// A table. Fields without a column are JSON in the last column.
    Csv,
}

impl AuditCommand {
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
        folder.context("no folder for the audit log: set server.audit.folder, server.state or PORTCULLIS_STATE")?;
    anyhow::ensure!(folder.is_dir(), "there is no audit log in {}: nothing was recorded yet", folder.display());
    Ok(folder)
}

impl Tail {
    async fn run(self) -> anyhow::Result<()> {
        let folder = folder(&self.file)?;
        let filter = self.about.filter();
        let (entries, mut follower) = audit::last_entries(&folder, self.lines, &filter)?;
        let print = |entry: &AuditLogEntry| match self.json {
            true => print_json(&entry.line),
            false => println!("{}", to_text(entry)),
        };
        entries.iter().for_each(print);
        let mut interval = tokio::time::interval(FOLLOW_INTERVAL);
        if !self.follow {
            return Ok(());
        }
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
            follower.read_new()?.iter().filter(|entry| filter.matches(entry)).for_each(print);
        }
    }
}

impl About {
    fn filter(&self) -> EntryFilter {
        EntryFilter { plugin: self.plugin.clone(), principal: self.principal.clone(), ..EntryFilter::default() }
    }
}

impl Verify {
    fn run(self) -> anyhow::Result<()> {
        let report = audit::verify(&folder(&self.file)?, self.head)?;
        let files = if report.files == 1 { "1 file".to_owned() } else { format!("{} files", report.files) };
        let archived = match report.archived {
            0 => String::new(),
            records => format!(", and {records} older ones in the archive"),
        };
        println!("whole: records {} to {} in {files}{archived}", report.first, report.head.seq);
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
        let time = |text: &Option<String>| text.as_deref().map(parse_time).transpose();
        let filter = EntryFilter { since: time(&self.since)?, until: time(&self.until)?, ..self.about.filter() };
        let folder = folder(&self.file)?;
        match self.write(&folder, &filter) {
            // A reader that has read enough, such as `head`, closes the pipe.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    fn write(&self, folder: &Path, filter: &EntryFilter) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        if let Format::Csv = self.format {
            writeln!(out, "{},{},detail", COLUMNS.join(","), TABLE_COLUMNS.join(","))?;
        }
        audit::for_each_entry(folder, filter, |entry| match self.format {
            Format::Jsonl => writeln!(out, "{}", escape_json(&entry.line)),
            Format::Csv => writeln!(out, "{}", row(&entry)),
        })?;
        out.flush()
    }
}

/// Parses a time or an age to the time since 1970.
fn parse_time(text: &str) -> anyhow::Result<Duration> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(SystemClock.unix().saturating_sub(ago));
    }
    let text_of_day = if text.len() == "2026-11-22".len() { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let time = humantime::parse_rfc3339_weak(&text_of_day).ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.with_context(|| {
        format!("`{text}` is not a time; write a day such as 2026-11-22, a time such as 2026-11-22T06:00:00Z (both UTC), or an age such as 24h")
    })
}

/// A record as a line for people.
fn to_text(entry: &AuditLogEntry) -> String {
    if !entry.is_valid() {
        return format!("changed: {}", printable(&entry.line));
    }
    let head = ["time", "seq", "event", "plugin", "principal"].map(|name| entry.text(name));
    let mut line = head.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    for (name, _) in details(entry) {
        line += &format!(" {name}={}", entry.text(name));
    }
    printable(&line).into_owned()
}

/// Fields without a column, and without the hash of the previous line.
fn details(entry: &AuditLogEntry) -> impl Iterator<Item = (&String, &serde_json::Value)> {
    entry.fields.iter().filter(|(name, _)| !COLUMNS.contains(&name.as_str()) && *name != "prev")
}

fn row(entry: &AuditLogEntry) -> String {
    let rest = details(entry).filter(|(name, _)| !TABLE_COLUMNS.contains(&name.as_str()));
    let detail: serde_json::Map<_, _> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
    let cells = COLUMNS.into_iter().chain(TABLE_COLUMNS).map(|name| cell(&entry.text(name)));
    cells.chain([cell(&serde_json::Value::Object(detail).to_string())]).collect::<Vec<_>>().join(",")
}

/// Quotes a cell where CSV requires it, and prefixes text that a spreadsheet would run as a formula.
fn cell(text: &str) -> String {
    let text = printable(text);
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.into_owned() };
    if text.contains(['"', ',']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_never_formulas() {
        assert_eq!(cell("plain"), "plain");
        assert_eq!(
            cell("a\u{1b}[2J\n\u{202e}b"),
            r"a\u{1b}[2J\n\u{202e}b",
            "nothing drives the terminal of who reads it"
        );
        assert_eq!(cell("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
    }

    #[test]
    fn times_and_ages_are_parsed() {
        assert_eq!(parse_time("1970-01-02T00:00:00Z").unwrap(), Duration::from_secs(86_400));
        assert_eq!(parse_time("1970-01-02").unwrap(), Duration::from_secs(86_400));
        assert!(parse_time("1h").unwrap() < SystemClock.unix());
        assert!(parse_time("yesterday").is_err());
    }
}
