//! `portcullis plugin`: one command per file.

mod accept;
mod bundled;
mod consent;
mod earlier_data;
mod install;
mod install_context;
mod list;
mod manifest;
mod outdated;
mod pack;
mod push;
mod remove;
mod report;
mod rollback;
mod set_enabled;
mod show;
mod update;

pub(super) use install_context::how_running_servers_change;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum PluginCommand {
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
    /// Show or set the manifest of a component: its name, its version and what it requests.
    Manifest(manifest::ManifestCommand),
    /// Pack a component as an OCI image layout in a folder.
    Pack(pack::Pack),
    /// Publish a component to a registry.
    Push(push::Push),
}

impl PluginCommand {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            PluginCommand::Install(command) => command.run().await,
            PluginCommand::List(command) => command.run().await,
            PluginCommand::Show(command) => command.run().await,
            PluginCommand::Enable(command) => command.run(true),
            PluginCommand::Disable(command) => command.run(false),
            PluginCommand::Remove(command) => command.run().await,
            PluginCommand::Update(command) => command.run().await,
            PluginCommand::Outdated(command) => command.run().await,
            PluginCommand::Rollback(command) => command.run().await,
            PluginCommand::Accept(command) => command.run().await,
            PluginCommand::Manifest(command) => command.run(),
            PluginCommand::Pack(command) => command.run().await,
            PluginCommand::Push(command) => command.run().await,
        }
    }
}
