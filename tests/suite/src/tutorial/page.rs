//! The steps of a page of Markdown.

use std::path::{Component, Path};

/// A fenced block.
pub(super) enum Step {
    /// A file to write.
    File { line: usize, name: String, text: String, is_added: bool },
    /// Commands to run.
    Console { typed: Option<String>, commands: Vec<Shown> },
}

/// A command as the page shows it.
pub(super) struct Shown {
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

impl Shown {
    pub(super) fn fails(&self) -> bool {
        self.output.iter().any(|line| line.starts_with("error"))
    }
}

/// All steps of a page, in order. An error names the line.
pub(super) fn steps(page: &str) -> Result<Vec<Step>, String> {
    let (mut steps, mut above) = (Vec::new(), "");
    let mut lines = page.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        if let Some(kind) = text.strip_prefix("```") {
            let mut block = Vec::new();
            loop {
                match lines.next() {
                    Some(("```", _)) => break,
                    Some((text, _)) => block.push(text),
                    None => return Err(format!("line {line}: the block has no end")),
                }
            }
            steps.push(step(kind, above, &block, line).map_err(|(line, wrong)| format!("line {line}: {wrong}"))?);
        }
        if !text.is_empty() {
            above = text;
        }
    }
    Ok(steps)
}

fn step(kind: &str, above: &str, block: &[&str], line: usize) -> Result<Step, (usize, String)> {
    if let Some(typed) = kind.strip_prefix("console") {
        let typed = Some(typed.trim().to_owned()).filter(|typed| !typed.is_empty());
        return Ok(Step::Console { typed, commands: commands(block, line + 1)? });
    }
    let (rest, is_added) = match above.strip_suffix(", at the end:") {
        Some(rest) => (Some(rest), true),
        None => (above.strip_suffix(':'), false),
    };
    let name = rest.and_then(|rest| rest.strip_suffix("`**")).and_then(|rest| rest.rsplit_once("**`"));
    let Some((_, name)) = name else {
        return Err((line, "neither `console` nor a file, whose name stands above it as **`name`**:".to_owned()));
    };
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err((line, format!("`{name}` leads out of the folder")));
    }
    let text = block.iter().map(|line| format!("{line}\n")).collect();
    Ok(Step::File { line, name: name.to_owned(), text, is_added })
}

fn commands(block: &[&str], first: usize) -> Result<Vec<Shown>, (usize, String)> {
    let mut commands: Vec<Shown> = Vec::new();
    for (text, line) in block.iter().zip(first..) {
        match (text.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(Shown { line, command: command.to_owned(), output: Vec::new() }),
            (None, Some(shown)) => shown.output.push((*text).to_owned()),
            (None, None) => return Err((line, "a console block begins with `$ ` and a command".to_owned())),
        }
    }
    if commands.is_empty() {
        return Err((first, "a console block begins with `$ ` and a command".to_owned()));
    }
    Ok(commands)
}
