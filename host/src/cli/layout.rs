//! Wraps long text for a terminal. Only inserts whitespace, where it has no meaning.

/// Width of a line, in characters.
const WIDTH: usize = 100;

/// Names in lines of at most [`WIDTH`].
pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a str>, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + 2 <= WIDTH => {
                line.push_str(", ");
                line.push_str(name);
            }
            last => {
                last.into_iter().for_each(|line| line.push(','));
                lines.push(format!("{:indent$}{name}", ""));
            }
        }
    }
    lines.join("\n")
}

/// JSON after a label, split where it is too long for a line. Text that is not JSON stays unchanged.
pub(super) fn json(label: &str, text: &str, indent: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = format!("{:indent$}{label} ", "");
    let used = out.chars().count();
    Json { closes: closes(&chars), chars: &chars, out: &mut out }.value(0, chars.len(), indent, used);
    out
}

struct Json<'a> {
    chars: &'a [char],
    /// The index of the closing bracket of each opening bracket.
    closes: Vec<usize>,
    out: &'a mut String,
}

impl Json<'_> {
    /// Writes the text from `at` to `end` into a line with `used` columns already.
    fn value(&mut self, at: usize, end: usize, indent: usize, used: usize) {
        let open = (at..end).find(|at| self.closes[*at] > *at);
        let Some(open) = open.filter(|_| used + end - at > WIDTH) else {
            return self.out.extend(&self.chars[at..end]);
        };
        let close = self.closes[open];
        self.out.extend(&self.chars[at..=open]);
        let mut begin = open + 1;
        while begin < close {
            let stop = self.comma(begin, close);
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent + 2));
            self.value(begin, stop, indent + 2, indent + 2);
            begin = stop;
        }
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.out.push(self.chars[close]);
        self.value(close + 1, end, indent, indent + 1);
    }

    /// The index after the comma that ends the member at `begin`, or `close` for the last member.
    fn comma(&self, begin: usize, close: usize) -> usize {
        let (mut at, mut quoted) = (begin, false);
        while at < close {
            match self.chars[at] {
                '\\' if quoted => at += 1,
                '"' => quoted = !quoted,
                ',' if !quoted => return at + 1,
                _ if !quoted && self.closes[at] > at => at = self.closes[at],
                _ => {}
            }
            at += 1;
        }
        close
    }
}

/// For each opening bracket outside of strings the index of its closing bracket; 0 for everything else.
fn closes(chars: &[char]) -> Vec<usize> {
    let (mut closes, mut open, mut quoted, mut at) = (vec![0; chars.len()], Vec::new(), false, 0);
    while at < chars.len() {
        match chars[at] {
            '\\' if quoted => at += 1,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => open.push(at),
            '}' | ']' if !quoted => {
                if let Some(began) = open.pop() {
                    closes[began] = at;
                }
            }
            _ => {}
        }
        at += 1;
    }
    closes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fill_lines() {
        let all: Vec<_> = (0..40).map(|n| format!("wasi:cli/name-{n}@0.2.3")).collect();
        let text = names(all.iter().map(String::as_str), 4);
        assert!(
            text.lines().count() > 5 && text.lines().all(|line| line.len() <= WIDTH + 1 && line.starts_with("    "))
        );
        assert_eq!(text.split_whitespace().collect::<String>(), all.join(","));
        assert_eq!(names([], 4), "");
    }

    #[test]
    fn nothing_of_a_schema_is_lost_or_moved() {
        let property = r#""na[me,\"}":{"type":["string","null"],"description":"a, b {c} \\","enum":[{},[],1]}"#;
        let long = format!("{{\"type\":\"object\",\"properties\":{{{property},{property}}},\"required\":[\"a\"]}}");
        let text = json("input", &long, 4);
        let glued: String = text.lines().map(str::trim_start).collect();
        assert_eq!(glued, format!("input {long}"));
        assert_eq!(text.lines().count(), 8, "{text}");
        assert_eq!(json("input", "{\"type\":\"object\"}", 4), "    input {\"type\":\"object\"}");
        for odd in ["", "}{", "[[[", "\"", "\\", "{\"a", &"]".repeat(200), &"[".repeat(200), &"x".repeat(300)] {
            assert_eq!(json("input", odd, 4).trim_start(), format!("input {odd}"), "{odd}");
        }
    }
}
