//! A picture under construction: shapes and words as SVG text, readable on a light and on a dark page.

use std::fmt::Write;

/// A server's colour; the style sheet has the colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Ours,
    Native,
    Floor,
    Missed,
}

impl Paint {
    fn class(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Native => "native",
            Self::Floor => "floor",
            Self::Missed => "missed",
        }
    }
}

/// Where a text is relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture shown as a file of its own takes no colour from its page, so it follows the reader's preference.
const STYLE: &str = "\
svg { color: #1f2328; font: 13px system-ui, 'DejaVu Sans', sans-serif }
text { fill: currentColor }
.title { font-weight: 600; font-size: 15px }
.soft { opacity: .7; font-size: 12px }
.grid { stroke: currentColor; stroke-opacity: .15 }
.axis { stroke: currentColor; stroke-opacity: .6 }
.target { stroke: currentColor; stroke-width: 2; stroke-dasharray: 3 2 }
.curve { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.ours { fill: #1f6feb; stroke: #1f6feb } .native { fill: #6e7781; stroke: #6e7781 }
.floor { fill: #bf8700; stroke: #bf8700 } .missed { fill: #cf222e; stroke: #cf222e }
polyline.curve { fill: none }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3 }
  .ours { fill: #58a6ff; stroke: #58a6ff } .native { fill: #9ea7b3; stroke: #9ea7b3 }
  .floor { fill: #e3b341; stroke: #e3b341 } .missed { fill: #ff7b72; stroke: #ff7b72 }
}
";

/// The shapes of a picture.
pub(super) struct Canvas {
    width: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64) -> Self {
        Self { width, body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.add(&format!(r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#));
    }

    pub(super) fn bar(&mut self, paint: Paint, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let class = paint.class();
        self.add(&format!(r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#));
    }

    /// A line through all points, with a dot at each.
    pub(super) fn curve(&mut self, paint: Paint, points: &[[f64; 2]]) {
        let class = paint.class();
        let path: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        self.add(&format!(r#"<polyline class="curve {class}" points="{}"/>"#, path.join(" ")));
        points.iter().for_each(|&point| self.dot(paint, point));
    }

    pub(super) fn dot(&mut self, paint: Paint, [x, y]: [f64; 2]) {
        let class = paint.class();
        self.add(&format!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#));
    }

    pub(super) fn text(&mut self, class: &str, anchor: Anchor, [x, y]: [f64; 2], text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(&format!(r#"<text class="{class}" text-anchor="{anchor}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    /// The whole file. `title` is what a screen reader says.
    pub(super) fn finish(self, height: f64, title: &str) -> String {
        let (width, title) = (self.width, escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n{}</svg>\n",
            self.body
        )
    }

    fn add(&mut self, shape: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{shape}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_break_the_file() {
        let mut canvas = Canvas::new(10.0);
        canvas.text("soft", Anchor::End, [1.0, 2.0], "a < b & c");
        let file = canvas.finish(20.0, "x > y");
        assert!(file.contains(r#"<text class="soft" text-anchor="end" x="1.0" y="2.0">a &lt; b &amp; c</text>"#));
        assert!(file.contains("<title>x &gt; y</title>") && file.ends_with("</svg>\n"));
    }
}
