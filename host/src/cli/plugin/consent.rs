//! Asking whoever sits at the terminal what a plugin may do. Where nobody sits there, nothing is agreed to.

use super::super::answers::{agreed, line};
use super::super::forms::yes;
use anyhow::Context;
use platform::telemetry::printable;
use plugins::install::{Proposal, lines, proposals};
use policy::{Authority, PluginId, Requests};
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

/// What is asked.
pub(super) struct Ask<'a> {
    /// Whose grants they are.
    pub(super) id: &'a PluginId,
    /// Everything that the plugin asks for.
    pub(super) requested: &'a Requests,
    /// What of it is asked about.
    pub(super) news: &'a Requests,
    /// What should not be overlooked, a line each.
    pub(super) mind: Vec<String>,
    /// The last question.
    pub(super) question: &'a str,
    /// What would do the same without a terminal.
    pub(super) command: &'a str,
}

impl Consent {
    /// What is granted in the end, `grants` included; none: it was refused.
    pub(super) fn get(&self, mut grants: Table, ask: &Ask<'_>) -> anyhow::Result<Option<Table>> {
        for line in &self.yes_grant {
            lines::add(&mut grants, line).map_err(anyhow::Error::msg)?;
        }
        if self.yes {
            return Ok(Some(grants));
        }
        let proposals = proposals(ask.news);
        if !std::io::stdin().is_terminal() {
            anyhow::bail!("{}", unattended(&self.yes_grant, &proposals, ask.command));
        }
        if !proposals.is_empty() {
            println!("\nWhat of it do you grant? What you leave out is refused when the plugin tries it.");
        }
        let count = proposals.len();
        for (at, proposal) in proposals.into_iter().enumerate() {
            println!("\n({} of {count}) It {}:", at + 1, proposal.want.means);
            ask.one(&mut grants, &proposal).context("nobody answers any more: nothing was changed")?;
        }
        println!("\nIt gets");
        let lines = lines::each(&grants);
        lines.iter().for_each(|line| println!("  {}", printable(line)));
        if lines.is_empty() {
            println!("  nothing: it computes, and that is all");
        }
        ask.mind.iter().for_each(|line| println!("! {}", printable(line)));
        Ok((agreed(ask.question) == Some(true)).then_some(grants))
    }
}

impl Ask<'_> {
    /// One line: agreed to, written anew or left out. None: the terminal is gone.
    fn one(&self, grants: &mut Table, proposal: &Proposal) -> Option<()> {
        let Proposal { line: proposed, choose, .. } = proposal;
        println!("  {}", printable(proposed));
        let prompt = match choose {
            None => "  Grant this? [y/N/edit] ",
            Some(what) => {
                println!("  You choose {what}.");
                "  Grant it? [N/edit] "
            }
        };
        loop {
            let said = line(prompt)?;
            match (said.to_ascii_lowercase().as_str(), yes(&said)) {
                ("", _) | (_, Some(false)) => return Some(()),
                ("e" | "edit", _) => match line("  The line, or nothing to leave it out: ")? {
                    edited if edited.is_empty() => return Some(()),
                    edited if self.add(grants, &edited) => return Some(()),
                    _ => {}
                },
                (_, Some(true)) if choose.is_none() && self.add(grants, proposed) => return Some(()),
                (_, Some(true)) => println!("  There is something for you to choose: say edit, or no."),
                (_, None) => println!(
                    "  Say {}, or edit to write the line yourself.",
                    match choose {
                        None => "y or n",
                        Some(_) => "n",
                    }
                ),
            }
        }
    }

    /// Whether the line could be added; if not, why not is said.
    fn add(&self, grants: &mut Table, line: &str) -> bool {
        let idle = |grants: &Table| -> Vec<&'static str> {
            let grants = toml::from_str(&grants.to_string()).unwrap_or_default();
            Authority::new(self.id.clone(), self.requested, &grants).idle_grants().to_vec()
        };
        let mut more = grants.clone();
        if let Err(why) = lines::add(&mut more, line) {
            println!("{}", escaped(&why));
            return false;
        }
        let before = idle(grants);
        if let Some(vain) = idle(&more).iter().find(|it| !before.contains(it)) {
            println!("  `{vain}` would have no effect: the plugin does not ask for it.");
            return false;
        }
        *grants = more;
        true
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
