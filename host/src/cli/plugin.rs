//! `portcullis plugin`.

use super::{ConfigFile, pack, push, show};
use crate::config::Config;
use crate::host::Host;
use crate::telemetry::printable;
use anyhow::Context;
use bytesize::ByteSize;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Plugin {
    /// All configured plugins, one line each.
    List {
        #[command(flatten)]
        file: ConfigFile,
    },
    /// One plugin: tools, schemas, requests and grants, imports, limits.
    Show {
        /// The plugin's name in the configuration.
        name: String,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Make an artefact of a component, as a folder that tools for registries understand.
    Pack(pack::Pack),
    /// Publish a component in a registry.
    Push(push::Push),
}

impl Plugin {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let file = match &self {
            Plugin::List { file } | Plugin::Show { file, .. } => file,
            Plugin::Pack(command) => return command.run().await,
            Plugin::Push(command) => return command.run().await,
        };
        let host = Host::start(&Config::load(&file.config)?, None).await?;
        let catalog = host.catalog.now();
        let plugins = catalog.all();
        match self {
            Plugin::Pack(_) | Plugin::Push(_) => {}
            Plugin::List { .. } => {
                println!("{:<28} {:<10} {:>9}  {:<19}  TOOLS", "PLUGIN", "VERSION", "SIZE", "DIGEST");
                for plugin in plugins {
                    let version = plugin.inspection.manifest.as_ref().map_or("-", |m| m.version.as_str());
                    let tools: Vec<_> = plugin.tools.iter().map(|tool| tool.tool.name.as_str()).collect();
                    let digest = plugin.digest.as_str().get(..19).unwrap_or_default();
                    let size = ByteSize(plugin.inspection.size).to_string();
                    println!("{:<28} {version:<10} {size:>9}  {digest}  {}", plugin.id().table(), tools.join(", "));
                }
                for upstream in &host.upstreams {
                    let tools = upstream.tools();
                    let tools: Vec<_> = tools.iter().map(|tool| printable(&tool.tool.name).into_owned()).collect();
                    let said = if upstream.is_connected() { tools.join(", ") } else { "not connected".to_owned() };
                    let name = format!("upstream.{}", upstream.name());
                    println!("{name:<28} {:<10} {:>9}  {:<19}  {said}", "-", "-", "-");
                }
            }
            Plugin::Show { name, .. } => {
                let mut found =
                    plugins.filter(|plugin| plugin.id().name == name || plugin.id().table() == name).peekable();
                found
                    .peek()
                    .with_context(|| format!("no plugin `{name}`; `portcullis plugin list` names those there are"))?;
                for plugin in found {
                    show::plugin(plugin);
                }
            }
        }
        host.close().await;
        Ok(ExitCode::SUCCESS)
    }
}
