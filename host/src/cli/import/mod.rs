//! `portcullis import`: takes over what was set up for another host.

mod policy_text;
mod remarks;
mod resources;
mod storage;
#[cfg(test)]
mod tests;
mod translation;
mod wassette;
mod web;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum ImportCommand {
    /// Make a plugin of a component and its Wassette policy: requests, grants and limits, none wider than the policy.
    Wassette(wassette::Wassette),
}

impl ImportCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Wassette(command) => command.run(),
        }
    }
}
