//! `portcullis plugin`: one command per file.

mod accept;
mod consent;
mod install_context;
mod install;
mod list;
mod outdated;
mod pack;
mod push;
mod remove;
mod report;
mod rollback;
mod show;
mod set_enabled;
mod update;

pub(super) use install_context::RUNNING;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Plugin {
    /// Install a plugin: fetch and check it, show its requests, ask for grants, and pin its digest.
    Install(install::Install),
    /// List all configured and installed plugins.
    List(list::List),
    /// Show a plugin: source, tools, schemas, requests, grants, imports, limits, and a staged version.
    Show(show::Show),
    /// Enable an installed plugin.
    Enable(set_enabled::SetEnabled),
    /// Disable an installed plugin without removing it.
    Disable(set_enabled::SetEnabled),
    /// Remove an installed plugin with its grants and its data.
    Remove(remove::Remove),
    /// Install newer versions. A version with new requests is staged until it is accepted.
    Update(update::Update),
    /// List installed plugins with newer versions.
    Outdated(outdated::Outdated),
    /// Go back to the previous version, with only those grants that it had then and that still exist.
    Rollback(rollback::Rollback),
    /// Accept a staged version: shows the differences and asks.
    Accept(accept::Accept),
    /// Pack a component as an OCI image layout in a folder.
    Pack(pack::Pack),
    /// Publish a component to a registry.
    Push(push::Push),
}

impl Plugin {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Plugin::Install(command) => command.run().await,
            Plugin::List(command) => command.run().await,
            Plugin::Show(command) => command.run().await,
            Plugin::Enable(command) => command.run(true),
            Plugin::Disable(command) => command.run(false),
            Plugin::Remove(command) => command.run().await,
            Plugin::Update(command) => command.run().await,
            Plugin::Outdated(command) => command.run().await,
            Plugin::Rollback(command) => command.run().await,
            Plugin::Accept(command) => command.run().await,
            Plugin::Pack(command) => command.run().await,
            Plugin::Push(command) => command.run().await,
        }
    }
}
