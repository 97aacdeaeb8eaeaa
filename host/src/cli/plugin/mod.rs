//! `portcullis plugin`: one command per file.

mod accept;
mod consent;
mod ground;
mod install;
mod list;
mod outdated;
mod pack;
mod push;
mod remove;
mod report;
mod rollback;
mod show;
mod switch;
mod update;

pub(super) use ground::RUNNING;

use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Plugin {
    /// Install a plugin: fetch it, look at it in the sandbox, show what it wants, ask, and keep it by its digest.
    Install(install::Install),
    /// All configured and installed plugins, one line each.
    List(list::List),
    /// One plugin: where it is from, tools, schemas, requests and grants, imports, limits, and what waits to be accepted.
    Show(show::Show),
    /// Load an installed plugin again.
    Enable(switch::Switch),
    /// Keep an installed plugin, but do not load it.
    Disable(switch::Switch),
    /// Forget an installed plugin: its component and its grants.
    Remove(remove::Remove),
    /// Bring newer versions: one that wants nothing new takes the place of the old one, any other waits to be accepted.
    Update(update::Update),
    /// Say which installed plugins have newer versions.
    Outdated(outdated::Outdated),
    /// Go back to the version before, with no more grants than it had then and has today.
    Rollback(rollback::Rollback),
    /// Agree to a version that waits: shows what is different, and asks.
    Accept(accept::Accept),
    /// Make an artefact of a component, as a folder that tools for registries understand.
    Pack(pack::Pack),
    /// Publish a component in a registry.
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
