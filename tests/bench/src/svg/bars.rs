//! Bars that start at 1: what a call costs here beside what it costs the native server.

use super::canvas::{Anchor, Canvas, Paint};
use super::scale::{Scale, short};

/// One bar, or the heading of a group of them.
pub(super) enum Line {
    Heading(String),
    Bar { name: String, times: f64, limit: Option<f64>, is_met: bool },
}

const LEFT: f64 = 270.0;
const PLOT: f64 = 420.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 64.0;
const LINE: f64 = 24.0;
const THICK: f64 = 13.0;

pub(super) fn draw(lines: &[Line], title: &str, caption: &str) -> String {
    let mut canvas = Canvas::new(LEFT + PLOT + RIGHT);
    let values = lines.iter().flat_map(|line| match line {
        Line::Bar { times, limit, .. } => vec![*times, limit.unwrap_or(1.0), 1.0],
        Line::Heading(_) => Vec::new(),
    });
    let scale = Scale::powers_of_two(values.collect::<Vec<_>>().into_iter());
    let x = |times: f64| LEFT + PLOT * scale.place(times);
    let bottom = TOP + LINE * lines.len() as f64 + 6.0;
    canvas.text("title", Anchor::Start, [8.0, 24.0], title);
    canvas.text("soft", Anchor::Start, [8.0, 43.0], caption);
    for tick in scale.ticks() {
        let class = if tick == 1.0 { "axis" } else { "grid" };
        canvas.line(class, [x(tick), TOP], [x(tick), bottom]);
        canvas.text("soft", Anchor::Middle, [x(tick), bottom + 17.0], &format!("{}×", short(tick)));
    }
    for (number, line) in lines.iter().enumerate() {
        let middle = TOP + LINE * (number as f64 + 0.5);
        match line {
            Line::Heading(text) => canvas.text("name", Anchor::Start, [8.0, middle + 6.0], text),
            Line::Bar { name, times, limit, is_met } => {
                canvas.text("soft", Anchor::End, [LEFT - 12.0, middle + 4.0], name);
                let (from, to) = (x(times.min(1.0)), x(times.max(1.0)));
                let paint = if *is_met { Paint::Ours } else { Paint::Missed };
                canvas.bar(paint, [from, middle - THICK / 2.0], [to - from, THICK]);
                if let Some(limit) = limit {
                    let reach = THICK / 2.0 + 4.0;
                    canvas.line("target", [x(*limit), middle - reach], [x(*limit), middle + reach]);
                }
                // Beyond the bar, and beyond the target where that is near.
                let near = limit.map(x).filter(|limit| (to..to + 50.0).contains(limit));
                let label = format!("{times:.2}×");
                canvas.text("soft", Anchor::Start, [near.unwrap_or(to) + 7.0, middle + 4.0], &label);
            }
        }
    }
    canvas.finish(bottom + 28.0, title)
}
