//! Follows a tutorial word for word: writes the files that it shows, runs its commands, and compares what they print.
//!
//! In a page, a fenced block is one of two:
//! - a file, if the line above it ends in ``**`name`**:``; or in ``**`name`**, at the end:``, which adds to the file;
//! - `console`: lines that begin with `$ ` are commands, the lines below each are its output. What follows `console` the user
//!   types, at a terminal, whenever a command waits at a place where the page shows it.
//!
//! A line `...` stands for any lines, `...` within a line for any text. A command fails if, and only if, the page shows
//! a line that begins with `error`.

mod compare;
mod page;
mod shell;

use page::{Step, steps};
use shell::Shell;
use std::fs;
use std::path::{Path, PathBuf};

/// Follows the page in an empty folder, with these variables in the environment. After each command, `arrange` may add what a
/// reader would download to the folder that it ended in. Returns the last folder.
///
/// # Errors
/// The first thing that is not as the page says, with its line.
pub fn follow(
    page: &str,
    folder: &Path,
    variables: &[(&str, String)],
    arrange: impl Fn(&Path),
) -> Result<PathBuf, String> {
    let steps = steps(page)?;
    if !steps.iter().any(|step| matches!(step, Step::Console { .. })) {
        return Err("the page has no console block, so nothing in it is tested".to_owned());
    }
    let mut shell = Shell::new(folder, variables);
    for step in &steps {
        match step {
            Step::File { line, name, text, is_added } => {
                let path = shell.folder().join(name);
                let written = match is_added {
                    // What is not there cannot be added to.
                    true => fs::read_to_string(&path).and_then(|before| fs::write(&path, before + text)),
                    false => fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| fs::write(&path, text)),
                };
                written.map_err(|error| format!("line {line}: {name} cannot be written: {error}"))?;
            }
            Step::Console { typed, commands } => {
                let mut asked = typed.is_none();
                for shown in commands {
                    let at = |wrong: String| format!("line {}: $ {}\n{wrong}", shown.line, shown.command);
                    let ran = shell.run(shown, typed.as_deref());
                    arrange(shell.folder());
                    asked |= ran.has_asked;
                    compare::compare(&shown.output, &ran.output).map_err(at)?;
                    if shown.fails() == ran.is_good {
                        let (does, shows) = if ran.is_good { ("succeeds", "a") } else { ("fails", "no") };
                        return Err(at(format!("it {does}, but the page shows {shows} line that begins with `error`")));
                    }
                }
                if !asked {
                    return Err(format!("line {}: no command of the block asks for its input", commands[0].line));
                }
            }
        }
    }
    Ok(shell.folder().to_owned())
}

/// The number of lines of a page without the files that it shows.
///
/// # Errors
/// As [`follow`], if the page cannot be read.
pub fn lines_without_files(page: &str) -> Result<usize, String> {
    let of_files = |step: &Step| match step {
        Step::File { text, .. } => text.lines().count(),
        Step::Console { .. } => 0,
    };
    Ok(page.lines().count() - steps(page)?.iter().map(of_files).sum::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(page: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        follow(page, folder.path(), &[], |_| ()).map(|_| ())
    }

    fn wrong(page: &str, said: &str) {
        let error = followed(page).expect_err("the page is wrong, and was found to be right");
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn a_right_page_is_followed() {
        let page = "# Title\nWrite **`sub/a.txt`**:\n```text\none\ntwo\n```\nand more to **`sub/a.txt`**, at the end:\n```\nthree\n```\n\
                    ```console\n$ cd sub\n$ cat a.txt; echo 12 ms\none\n...\nthree\n... ms\n```\n\
                    ```console\n$ pwd | sed 's/.*[/]//'\nsub\n$ echo error: 7 >&2; false\nerror: 7\n```\n\
                    ```console Ada\n$ printf 'Your name: '; read name; echo \"Hello, $name\"; test -t 2\nYour name: Ada\nHello, Ada\n```\n";
        assert_eq!(followed(page), Ok(()));
        assert_eq!(lines_without_files(page), Ok(page.lines().count() - 3));
    }

    #[test]
    fn what_differs_is_said() {
        wrong("```console\n$ printf 'one\\ntwo\\n'\none\ntoo\n```\n", "line 2: $ printf");
        wrong("```console\n$ printf 'one\\ntwo\\n'\none\ntoo\n```\n", "  one\n- too\n+ two\n");
        wrong("```console\n$ echo one\n```\n", "+ one");
        wrong("```console\n$ true\none\n```\n", "- one");
        wrong("```console\n$ printf 'one\\ntwo\\n'\none\n```\n", "+ two");
        wrong("```console\n$ printf 'one\\ntwo\\n'\n...\none\n```\n", "  one\n+ two\n");
        wrong("```console\n$ echo 12 s\n... ms\n```\n", "- ... ms\n+ 12 s");
    }

    #[test]
    fn what_fails_or_does_not_is_said() {
        wrong("```console\n$ false\n```\n", "it fails, but the page shows no line");
        wrong("```console\n$ echo error: none\nerror: none\n```\n", "it succeeds, but the page shows a line");
        wrong("```console\n$ nothing-of-this-name\n...\n```\n", "it fails");
        wrong("```console\n$ echo 'a\n...\n```\n", "it fails");
    }

    #[test]
    fn what_would_test_nothing_is_refused() {
        wrong("# Title\nWords.\n", "no console block");
        wrong("```console\nno command\n```\n", "line 2: a console block begins with `$ `");
        wrong("```console\n```\n", "a console block begins with `$ `");
        wrong("```sh\n$ ls\n```\n", "line 1: neither `console` nor a file");
        wrong("```console\n$ ls\n", "line 1: the block has no end");
        wrong("**`../a`**:\n```\nx\n```\n```console\n$ ls\n```\n", "line 2: `../a` leads out of the folder");
        wrong("**`a`**, at the end:\n```\nx\n```\n```console\n$ ls\n...\n```\n", "line 2: a cannot be written");
        wrong("```console Ada\n$ echo done\ndone\n```\n", "line 2: no command of the block asks");
    }
}
