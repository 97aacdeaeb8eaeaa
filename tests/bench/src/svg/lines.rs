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
    pub(super) name: String,
    pub(super) paint: Paint,
    /// In the order of their first coordinate.
    pub(super) points: Vec<[f64; 2]>,
}

/// The room of a panel, without its title and the words at its axes.
const PLOT: [f64; 2] = [300.0, 190.0];
const LEFT: f64 = 56.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 44.0;
/// For the names at the ends of the lines.
const RIGHT: f64 = 88.0;
/// Names are at least this far apart.
const NAME: f64 = 15.0;

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
    canvas.text("title", Anchor::Start, [x + 8.0, 24.0], &panel.title);
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
    let mut names: Vec<(f64, &Curve)> = Vec::new();
    for curve in panel.curves.iter().filter(|curve| !curve.points.is_empty()) {
        let points: Vec<[f64; 2]> = curve.points.iter().copied().map(at).collect();
        canvas.curve(curve.paint, &points);
        names.push((points[points.len() - 1][1], curve));
    }
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (y, (_, curve)) in apart(&names.iter().map(|(y, _)| *y).collect::<Vec<_>>(), bottom).into_iter().zip(&names) {
        let end = curve.points.last().map_or(left, |&point| at(point)[0]);
        canvas.text("name", Anchor::Start, [end + 9.0, y + 4.0], &curve.name);
    }
}

/// Moves rising places apart until no two names overlap; none goes below `lowest`.
fn apart(places: &[f64], lowest: f64) -> Vec<f64> {
    let mut moved = places.to_vec();
    for at in 1..moved.len() {
        moved[at] = moved[at].max(moved[at - 1] + NAME);
    }
    let mut limit = lowest;
    for place in moved.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - NAME;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance() {
        assert_eq!(apart(&[10.0, 12.0, 100.0], 200.0), [10.0, 25.0, 100.0]);
        assert_eq!(apart(&[190.0, 195.0], 200.0), [185.0, 200.0]);
        assert_eq!(apart(&[], 200.0), Vec::<f64>::new());
    }
}
