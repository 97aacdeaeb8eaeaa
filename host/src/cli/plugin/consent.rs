//! Asking whoever sits at the terminal what a plugin may do. Where nobody sits there, nothing is agreed to.

use super::super::answers::line;
use super::super::forms::yes;
use crate::install::{Proposal, lines, proposals};
use crate::policy::Requests;
use crate::telemetry::printable;
use anyhow::Context;
use std::io::IsTerminal;
use toml_edit::Table;

#[derive(clap::Args)]
pub(in crate::cli) struct Consent {
    /// Agree without being asked, to no grants but those of --yes-grant.
    #[arg(long, short)]
    yes: bool,
    /// Grant this: a line as in the configuration, such as 'env = ["TZ"]'. May be given again.
    #[arg(long, value_name = "LINE")]
    yes_grant: Vec<String>,
}

impl Consent {
    /// What is granted in the end, `grants` included; none: it was refused. `requests` are what is asked about, `question`
    /// is put last, and `command` is what would do the same without a terminal.
    pub(super) fn get(
        &self,
        mut grants: Table,
        requests: &Requests,
        question: &str,
        command: &str,
    ) -> anyhow::Result<Option<Table>> {
        for line in &self.yes_grant {
            lines::add(&mut grants, line).map_err(anyhow::Error::msg)?;
        }
        if self.yes {
            return Ok(Some(grants));
        }
        let proposals = proposals(requests);
        if !std::io::stdin().is_terminal() {
            anyhow::bail!("{}", unattended(&self.yes_grant, &proposals, command));
        }
        if !proposals.is_empty() {
            println!("\nWhat of it do you grant? What you leave out is refused when the plugin tries it.");
        }
        for proposal in proposals {
            ask(&mut grants, &proposal).context("nobody answers any more: nothing was changed")?;
        }
        let given = grants.to_string();
        println!("\ngrants\n{}", if given.trim().is_empty() { "nothing".into() } else { escaped(given.trim()) });
        loop {
            match line(&format!("{question} (yes / no) ")).as_deref().map(yes) {
                Some(Some(true)) => return Ok(Some(grants)),
                Some(None) => {}
                Some(Some(false)) | None => return Ok(None),
            }
        }
    }
}

/// One line: agreed to, written anew or left out. None: the terminal is gone.
fn ask(grants: &mut Table, proposal: &Proposal) -> Option<()> {
    let Proposal { want, line: proposed, choose } = proposal;
    println!("\n  It {}.\n  {}", want.means, printable(proposed));
    let prompt = match choose {
        None => "  Grant this? (yes / no / edit) ",
        Some(what) => {
            println!("  You choose {what}.");
            "  Grant it? (no / edit) "
        }
    };
    loop {
        let said = line(prompt)?;
        match yes(&said) {
            Some(false) => return Some(()),
            Some(true) if choose.is_none() => {
                if lines::add(grants, proposed).is_ok() {
                    return Some(());
                }
            }
            _ if said.eq_ignore_ascii_case("edit") || said.eq_ignore_ascii_case("e") => {
                let edited = line("  The line, or nothing to leave it out: ")?;
                if edited.is_empty() {
                    return Some(());
                }
                match lines::add(grants, &edited) {
                    Ok(()) => return Some(()),
                    Err(why) => println!("  {}", escaped(&why)),
                }
            }
            Some(true) | None => {}
        }
    }
}

/// Nobody is there to be asked: what to say instead.
fn unattended(given: &[String], proposals: &[Proposal], command: &str) -> String {
    let mut whole = format!("{command} --yes");
    let mut choices = Vec::new();
    for line in given {
        whole += &format!(" \\\n    --yes-grant {}", quoted(line));
    }
    for proposal in proposals {
        whole += &format!(" \\\n    --yes-grant {}", quoted(&proposal.line));
        choices.extend(proposal.choose);
    }
    let mut text = format!(
        "nobody sits at the terminal to be asked, so nothing was changed. What you agree to, say so:\n\n  {whole}\n"
    );
    if !proposals.is_empty() {
        text += "\nLeave out each --yes-grant that you do not want to give.";
    }
    for choice in choices {
        text += &format!("\nYou choose {choice}.");
    }
    text
}

/// For a shell: one word, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", printable(text).replace('\'', r"'\''"))
}

fn escaped(text: &str) -> String {
    text.lines().map(|line| format!("  {}", printable(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_said_is_one_command() {
        assert_eq!(quoted("env = [\"TZ\"]"), "'env = [\"TZ\"]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("./a.wasm"), "./a.wasm");
        let requests: Requests = toml::from_str("env = [\"TZ\"]\nfilesystem = \"read\"").unwrap();
        let text = unattended(&[], &proposals(&requests), "portcullis plugin install ./a.wasm");
        assert!(
            text.contains("install ./a.wasm --yes \\\n") && text.contains("--yes-grant 'env = [\"TZ\"]'"),
            "{text}"
        );
        assert!(text.contains("You choose DIRECTORY"), "{text}");
    }
}
