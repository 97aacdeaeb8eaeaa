//! Asks the user at the terminal which grants a plugin gets. Without a terminal nothing is granted.

use crate::cli::forms::parse_yes_no;
use crate::cli::prompt::{confirm, read_line};
use anyhow::Context;
use platform::telemetry::printable;
use plugins::install::{GrantProposal, grant_lines, propose_grants};
use policy::{Authority, PluginId, Requests, is_name};
use std::io::IsTerminal;
use toml_edit::Table;

#[derive(clap::Args)]
pub(in crate::cli) struct ConsentOptions {
    /// Agree without being asked. Grants only what --yes-grant names.
    #[arg(long, short)]
    yes: bool,
    /// Grant this line of configuration, such as 'env = ["TZ"]'. May be repeated.
    #[arg(long, value_name = "LINE")]
    yes_grant: Vec<String>,
}

/// A request for the user's consent.
pub(super) struct ConsentRequest<'a> {
    pub(super) id: &'a PluginId,
    /// Everything that the plugin requests.
    pub(super) requested: &'a Requests,
    /// The requests that the user has not seen yet.
    pub(super) news: &'a Requests,
    /// Warnings, one line each.
    pub(super) warnings: Vec<String>,
    /// The final question.
    pub(super) question: &'a str,
    /// The command that does the same without a terminal.
    pub(super) command: &'a str,
}

impl ConsentOptions {
    /// The final grants, starting from `grants`; none if the user refused.
    pub(super) fn get(&self, mut grants: Table, ask: &ConsentRequest<'_>) -> anyhow::Result<Option<Table>> {
        for line in &self.yes_grant {
            grant_lines::add(&mut grants, line).map_err(anyhow::Error::msg)?;
        }
        if self.yes {
            return Ok(Some(grants));
        }
        let proposals = propose_grants(ask.news);
        if !std::io::stdin().is_terminal() {
            anyhow::bail!("{}", unattended(&self.yes_grant, &proposals, ask.command));
        }
        if !proposals.is_empty() {
            println!("\nWhich requests do you grant? The others are refused when the plugin uses them.");
        }
        let count = proposals.len();
        for (at, proposal) in proposals.into_iter().enumerate() {
            println!("\n({} of {count}) It {}:", at + 1, proposal.capability.effect);
            ask.one(&mut grants, &proposal).context("no answer at the terminal: nothing was changed")?;
        }
        println!("\nIts grants");
        let lines = grant_lines::list(&grants);
        lines.iter().for_each(|line| println!("  {}", printable(line)));
        if lines.is_empty() {
            println!("  nothing: it can only compute");
        }
        ask.warnings.iter().for_each(|line| println!("! {}", printable(line)));
        Ok((confirm(ask.question) == Some(true)).then_some(grants))
    }
}

impl ConsentRequest<'_> {
    /// Asks about one line, which the user can grant, edit or leave out. None at the end of input.
    fn one(&self, grants: &mut Table, proposal: &GrantProposal) -> Option<()> {
        let GrantProposal { line: proposed, choose, .. } = proposal;
        println!("  {}", printable(proposed));
        let prompt = match choose {
            None => "  Grant this? [y/N/edit] ",
            Some(what) => {
                println!("  You choose {what}.");
                "  Grant it? [N/edit] "
            }
        };
        loop {
            let input = read_line(prompt)?;
            match (input.to_ascii_lowercase().as_str(), parse_yes_no(&input)) {
                ("", _) | (_, Some(false)) => return Some(()),
                ("e" | "edit", _) => match read_line("  The line, or nothing to leave it out: ")? {
                    edited if edited.is_empty() => return Some(()),
                    edited if self.add(grants, &edited) => return Some(()),
                    _ => {}
                },
                (_, Some(true)) if choose.is_none() && self.add(grants, proposed) => return Some(()),
                (_, Some(true)) => println!("  You must choose a value: type edit, or n."),
                (_, None) => println!(
                    "  Type {}, or edit to write the line yourself.",
                    match choose {
                        None => "y or n",
                        Some(_) => "n",
                    }
                ),
            }
        }
    }

    /// Adds a line. Returns whether it could be added, and prints the reason if not.
    fn add(&self, grants: &mut Table, line: &str) -> bool {
        let idle = |grants: &Table| -> Vec<&'static str> {
            let grants = toml::from_str(&grants.to_string()).unwrap_or_default();
            Authority::new(self.id.clone(), self.requested, &grants).unrequested_grants().to_vec()
        };
        let mut more = grants.clone();
        if let Err(why) = grant_lines::add(&mut more, line) {
            println!("{}", indent_escaped(&why));
            return false;
        }
        let before = idle(grants);
        if let Some(vain) = idle(&more).iter().find(|it| !before.contains(it)) {
            println!("  `{vain}` would have no effect: the plugin does not request it.");
            return false;
        }
        *grants = more;
        true
    }
}

/// The message without a terminal: the command that grants what the user wants.
fn unattended(given: &[String], proposals: &[GrantProposal], command: &str) -> String {
    let mut whole = format!("{command} --yes");
    let mut choices = Vec::new();
    for line in given {
        whole += &format!(" \\\n    --yes-grant {}", shell_quote(line));
    }
    for proposal in proposals {
        whole += &format!(" \\\n    --yes-grant {}", shell_quote(&proposal.line));
        choices.extend(proposal.choose);
    }
    let mut text = format!("there is no terminal to ask at, so nothing was changed. To agree, run:\n\n  {whole}\n");
    if !proposals.is_empty() {
        text += "\nLeave out each --yes-grant that you do not want.";
    }
    for choice in choices {
        text += &format!("\nYou choose {choice}.");
    }
    text
}

/// Quotes a text as one shell word.
pub(super) fn shell_quote(text: &str) -> String {
    if is_name(text, usize::MAX, "-_./:@=+,") {
        return text.to_owned();
    }
    format!("'{}'", printable(text).replace('\'', r"'\''"))
}

fn indent_escaped(text: &str) -> String {
    text.lines().map(|line| format!("  {}", printable(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_contains_one_command() {
        assert_eq!(shell_quote("env = [\"TZ\"]"), "'env = [\"TZ\"]'");
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote("./a.wasm"), "./a.wasm");
        let requests: Requests = toml::from_str("env = [\"TZ\"]\nfilesystem = \"read\"").unwrap();
        let text = unattended(&[], &propose_grants(&requests), "portcullis plugin install ./a.wasm");
        assert!(
            text.contains("install ./a.wasm --yes \\\n") && text.contains("--yes-grant 'env = [\"TZ\"]'"),
            "{text}"
        );
        assert!(text.contains("You choose DIRECTORY"), "{text}");
    }
}
