//! Scans Rust source for the repository's rules: separates code from comments and finds words.

/// The code of a file: comments, and what is inside quotes, are blanked out; lines stay where they are.
pub fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest, out.chars().next_back());
        let (taken, left) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        match length {
            0 => out.push_str(taken),
            _ => out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
        rest = left;
    }
    out
}

/// The number of bytes at the start of `rest` that are not code; `before` is the previous character.
fn skipped(rest: &str, before: Option<char>) -> usize {
    let until = |end: Option<usize>| end.unwrap_or(rest.len());
    if rest.starts_with("//") {
        return until(rest.find('\n'));
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let in_word = before.is_some_and(is_word);
    let raw = rest.strip_prefix("br").or(rest.strip_prefix('r')).filter(|_| !in_word);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let open = rest.len() - raw.len() + hashes + 1;
            let close = format!("\"{}", "#".repeat(hashes));
            return until(rest[open..].find(&close).map(|at| open + at + close.len()));
        }
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    // A character literal, not a lifetime: a quote follows after one character, which may be escaped.
    let mut ahead = rest.chars();
    match (ahead.next(), ahead.next(), ahead.next()) {
        (Some('\''), Some('\\'), _) => quoted(rest, '\''),
        (Some('\''), Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The code without its test module, to which rules about the program's behaviour do not apply. By convention, a test
/// module with code in it is the last item of a file. One that is only declared may stand above other code.
pub fn without_tests(code: &str) -> &str {
    let mut modules = code.match_indices("#[cfg(test)]\nmod ");
    let with_code =
        modules.find(|(at, _)| code[*at..].find(['{', ';']).is_some_and(|end| code[at + end..].starts_with('{')));
    with_code.map_or(code, |(at, _)| &code[..at])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The line numbers where `needle` occurs in code as whole words: `print!` does not occur in `eprint!`.
pub fn lines_with(code: &str, needle: &str) -> Vec<usize> {
    let stands_alone = |at: usize| {
        let before = code[..at].chars().next_back();
        let after = code[at + needle.len()..].chars().next();
        let open_end = needle.chars().next_back().is_some_and(is_word);
        !(before.is_some_and(is_word) || open_end && after.is_some_and(is_word))
    };
    let found = code.match_indices(needle).filter(|(at, _)| stands_alone(*at));
    found.map(|(at, _)| code[..at].matches('\n').count() + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_quotes_are_blanked() {
        assert_eq!(code("a // rmcp\nb"), "a        \nb");
        assert_eq!(code("a /* x /* y */ z */ b").trim_end().replace(' ', ""), "ab");
        assert_eq!(code("f(\"unsafe \\\" { \", 'x', '\\'', '\"')").matches('"').count(), 0);
        assert!(!code("r#\"rmcp \" rmcp\"# + b").contains("rmcp"));
        assert!(code("fn f<'a>(x: &'a str) { rmcp }").contains("rmcp"), "a lifetime is no quote");
        assert!(code("let r = \"x\"; rmcp").contains("rmcp"));
        assert_eq!(code("\"a\nb\"\nc").matches('\n').count(), 2, "lines stay");
        assert_eq!(code("'ä' + \"ö\" + x").trim_start().trim_start_matches(['+', ' ']), "x");
    }

    #[test]
    fn only_whole_words_are_found() {
        assert_eq!(lines_with("eprint!(x)\nprint!(y)", "print!"), [2]);
        assert_eq!(lines_with("is_unsafe(x)\nunsafe { }\nunsafe_code", "unsafe"), [2]);
        assert_eq!(lines_with("std::env::var(x)", "env::var"), [1]);
        assert_eq!(lines_with("wasmtime_wasi::x", "wasmtime"), [0usize; 0]);
    }

    #[test]
    fn the_test_module_is_left_out() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n b }"), "a\n");
        assert_eq!(without_tests("#[cfg(test)]\nfn helper() {}\nb"), "#[cfg(test)]\nfn helper() {}\nb");
        let declared = "#[cfg(test)]\nmod tests;\nfn f() { b }\n";
        assert_eq!(without_tests(&format!("{declared}#[cfg(test)]\nmod more {{\n c }}")), declared);
    }
}
