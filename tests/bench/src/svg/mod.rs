//! The pictures of a report, as SVG files.

mod bars;
mod canvas;
mod lines;
mod scale;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::contender::Contender;
use crate::report::{Report, Row, Series, Target, Unit};
use bars::Line;
use canvas::{Canvas, Paint};
use lines::{Curve, Panel};

/// A picture that was written.
pub(crate) struct Picture {
    pub(crate) says: &'static str,
    pub(crate) file: PathBuf,
}

/// Writes a picture of each kind for which the report has figures.
pub(crate) fn write_all(report: &Report, folder: &Path) -> Result<Vec<Picture>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let in_flight = "calls in flight";
    let pictures = [
        ("ratios", "Cost of a call beside the native server", ratios(report)),
        (
            "load",
            "Calls per second and CPU time, by calls in flight",
            side_by_side(&[
                panel(report, Series::RateByLoad, "Calls per second", in_flight),
                panel(report, Series::CpuByLoad, "Server's CPU time per call, µs", in_flight),
            ]),
        ),
        (
            "plugins",
            "Start and memory, by plugins",
            side_by_side(&[
                panel(report, Series::StartByPlugins, "Start, compiled before, ms", "plugins"),
                panel(report, Series::MemoryByPlugins, "Memory when idle, MiB", "plugins"),
            ]),
        ),
        (
            "connections",
            "Memory, by open connections",
            side_by_side(&[panel(report, Series::MemoryByConnections, "Memory, MiB", "open connections")]),
        ),
    ];
    let mut written = Vec::new();
    for (name, says, picture) in pictures {
        if let Some(picture) = picture {
            let file = folder.join(format!("{name}.svg"));
            fs::write(&file, picture).with_context(|| format!("cannot write {}", file.display()))?;
            written.push(Picture { says, file });
        }
    }
    Ok(written)
}

/// What a call costs beside the native server. Of calls per second, the reciprocal is the cost.
fn ratios(report: &Report) -> Option<String> {
    let mut lines = Vec::new();
    let mut section = "";
    for row in points(report, Series::Ratios) {
        let column = Contender::Fuel as usize;
        let Some(ratio) = row.ratios[column].filter(|ratio| *ratio > 0.0) else { continue };
        if row.section != section {
            section = &row.section;
            lines.push(Line::Heading(section.to_owned()));
        }
        let cost = |ratio: f64| if row.unit == Unit::PerSecond { ratio.recip() } else { ratio };
        let limit = match row.target {
            Some(Target::RatioAtMost(limit) | Target::RatioAtLeast(limit)) => Some(cost(limit)),
            _ => None,
        };
        let name = row.what.trim_start().to_owned();
        lines.push(Line::Bar { name, times: cost(ratio), limit, is_met: row.met(column) != Some(false) });
    }
    let caption =
        "To the right of 1: costs more. Calls per second count as time per call. Dashes: target. Red: missed.";
    (!lines.is_empty()).then(|| bars::draw(&lines, "Cost of a call beside the native rmcp server", caption))
}

/// A panel with a line for each server that has at least two points.
fn panel(report: &Report, series: Series, title: &str, across: &'static str) -> Option<Panel> {
    let mut curves = Vec::new();
    for (contender, name, paint) in [
        (Contender::Fuel, "Portcullis", Paint::Ours),
        (Contender::Native, "native rmcp", Paint::Native),
        (Contender::Floor, "bare hyper", Paint::Floor),
    ] {
        let figures = points(report, series).filter_map(|row| Some((row.point?.at, row.figures[contender as usize]?)));
        let points: Vec<[f64; 2]> = figures.map(|(at, figure)| [at as f64, figure]).collect();
        if points.len() > 1 {
            curves.push(Curve { name, paint, points });
        }
    }
    let doubling = matches!(series, Series::RateByLoad | Series::CpuByLoad);
    (!curves.is_empty()).then(|| Panel { title: title.into(), across, doubling, curves })
}

fn points(report: &Report, series: Series) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(move |row| row.point.is_some_and(|point| point.series == series))
}

fn side_by_side(panels: &[Option<Panel>]) -> Option<String> {
    let panels: Vec<&Panel> = panels.iter().flatten().collect();
    let titles: Vec<&str> = panels.iter().map(|panel| &*panel.title).collect();
    let mut canvas = Canvas::new(lines::WIDTH * panels.len() as f64);
    for (number, panel) in panels.iter().enumerate() {
        lines::draw(&mut canvas, panel, lines::WIDTH * number as f64);
    }
    (!panels.is_empty()).then(|| canvas.finish(lines::HEIGHT, &titles.join("; ")))
}
