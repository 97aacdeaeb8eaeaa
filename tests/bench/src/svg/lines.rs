//! A panel with lines: how one quantity grows with another, for each server.

use super::canvas::{Anchor, Canvas, Paint};
use super::scale::{Scale, short};

/// What one panel shows.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) across: &'static str,
    /// Whether equal distances across are equal ratios.
    pub(super) doubling: bool,
    pub(super) curves: Vec<Curve>,
}

pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) paint: Paint,
    /// In the order of their first coordinate.
    pub(super) points: Vec<[f64; 2]>,
}

/// The room of a panel, without its title, its legend and the words at its axes.
const PLOT: [f64; 2] = [330.0, 190.0];
const LEFT: f64 = 56.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 24.0;

/// The width of a letter in the legend, about.
const LETTER: f64 = 7.2;

pub(super) const WIDTH: f64 = LEFT + PLOT[0] + RIGHT;
pub(super) const HEIGHT: f64 = TOP + PLOT[1] + BOTTOM;

/// Draws a panel whose left edge is at `x`.
pub(super) fn draw(canvas: &mut Canvas, panel: &Panel, x: f64) {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let highest = points().map(|point| point[1]).fold(0.0, f64::max);
    let (left, bottom) = (x + LEFT, TOP + PLOT[1]);
    let upward = Scale::linear(highest);
    let across = if panel.doubling {
        Scale::powers_of_two(points().map(|point| point[0]))
    } else {
        Scale::linear(points().map(|point| point[0]).fold(0.0, f64::max))
    };
    let at = |[px, py]: [f64; 2]| [left + PLOT[0] * across.place(px), bottom - PLOT[1] * upward.place(py)];
    canvas.text("title", Anchor::Start, [x + 8.0, 22.0], &panel.title);
    for tick in upward.ticks() {
        let y = bottom - PLOT[1] * upward.place(tick);
        canvas.line(if tick == 0.0 { "axis" } else { "grid" }, [left, y], [left + PLOT[0], y]);
        canvas.text("soft", Anchor::End, [left - 8.0, y + 4.0], &short(tick));
    }
    for tick in across.ticks() {
        let x = left + PLOT[0] * across.place(tick);
        canvas.line("axis", [x, bottom], [x, bottom + 4.0]);
        canvas.text("soft", Anchor::Middle, [x, bottom + 18.0], &short(tick));
    }
    canvas.text("soft", Anchor::Middle, [left + PLOT[0] / 2.0, bottom + 36.0], panel.across);
    let mut legend = left;
    for curve in &panel.curves {
        let points: Vec<[f64; 2]> = curve.points.iter().copied().map(at).collect();
        canvas.curve(curve.paint, &points);
        canvas.dot(curve.paint, [legend + 4.0, 41.0]);
        canvas.text("soft", Anchor::Start, [legend + 13.0, 45.0], curve.name);
        legend += 30.0 + LETTER * curve.name.len() as f64;
    }
}
