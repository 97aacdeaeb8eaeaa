//! Asks the user at the terminal which grants a plugin gets. Without a terminal nothing is granted.

use crate::cli::forms::parse_yes_no;
use crate::cli::prompt::{confirm, read_line};
use crate::cli::text::shell_quote;
use anyhow::Context;
use platform::telemetry::printable;
use plugins::install::grant_lines;
use policy::{Authority, Choice, GrantProposal, PluginId, Requests, is_name};
use std::io::IsTerminal;
use std::path::Path;
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
    /// The folder of the configuration, to which directories are relative.
    pub(super) folder: &'a Path,
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
    pub(super) fn is_given(&self) -> bool {
        self.yes
    }

    /// The final grants, starting from `grants`; none if the user refused.
    pub(super) fn get(&self, mut grants: Table, ask: &ConsentRequest<'_>) -> anyhow::Result<Option<Table>> {
        for line in &self.yes_grant {
            grant_lines::add(&mut grants, line).map_err(anyhow::Error::msg)?;
        }
        if self.yes {
            return Ok(Some(grants));
        }
        let proposals = ask.news.proposals(ask.requested);
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
        println!("  {}", printable(&proposal.line));
        let prompt = match (proposal.choose, &proposal.suggested) {
            (None, _) => "  Grant this? [y/N/edit] ".to_owned(),
            (Some(Choice::Directory), _) => "  Which directory? (Enter: none, edit: write the line) ".to_owned(),
            (Some(_), None) => "  Which host? (Enter: none, edit: write the line) ".to_owned(),
            (Some(_), Some(host)) => {
                format!("  Which host? (y: {}, Enter: none, edit: write the line) ", printable(host))
            }
        };
        loop {
            let input = read_line(&prompt)?;
            match (input.to_ascii_lowercase().as_str(), proposal.choose, parse_yes_no(&input)) {
                ("", ..) | (_, _, Some(false)) => return Some(()),
                ("e" | "edit", ..) => match read_line("  The line, or nothing to leave it out: ")? {
                    edited if edited.is_empty() => return Some(()),
                    edited if self.add(grants, &edited) => return Some(()),
                    _ => {}
                },
                (_, None, Some(true)) if self.add(grants, &proposal.line) => return Some(()),
                (_, None, _) => println!("  Type y or n, or edit to write the line yourself."),
                (_, Some(Choice::Directory), _) => {
                    let Some(default) = self.find_directory(&input) else { continue };
                    let path = read_line(&format!("  Where does the plugin see it? [{default}] "))?;
                    let path = if path.is_empty() { &default } else { &path };
                    if self.add(grants, &proposal.with_choice(&input, path)) {
                        return Some(());
                    }
                }
                (_, Some(_), Some(true)) => match &proposal.suggested {
                    Some(host) if self.add(grants, &proposal.with_choice(host, "")) => return Some(()),
                    Some(_) => {}
                    None => println!("  Type a host, such as example.com, or Enter for none."),
                },
                (_, Some(_), _) if self.add(grants, &proposal.with_choice(&input, "")) => return Some(()),
                (_, Some(_), _) => {}
            }
        }
    }

    /// The path to propose for a directory of this machine. Prints what is wrong if there is no such directory.
    fn find_directory(&self, text: &str) -> Option<String> {
        let directory = self.folder.join(text);
        if !directory.is_dir() {
            println!("  There is no directory {}.", printable(&directory.display().to_string()));
            return None;
        }
        let name = directory.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned();
        Some(format!("/{}", if is_name(&name, 64, "._-") { &*name } else { "data" }))
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
        choices.extend(proposal.choose.map(Choice::what));
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

fn indent_escaped(text: &str) -> String {
    text.lines().map(|line| format!("  {}", printable(line))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_contains_one_command() {
        let requests: Requests = toml::from_str("env = [\"TZ\"]\nfilesystem = \"read\"").unwrap();
        let text = unattended(&[], &requests.proposals(&requests), "portcullis plugin install ./a.wasm");
        assert!(
            text.contains("install ./a.wasm --yes \\\n") && text.contains("--yes-grant 'env = [\"TZ\"]'"),
            "{text}"
        );
        assert!(text.contains("You choose DIRECTORY"), "{text}");
    }
}
