//! Decides what happens to the data of an earlier plugin when another one is installed under its name.

use super::install_context::InstallContext;
use crate::cli::prompt::read_line;
use platform::telemetry::printable;
use policy::{DataKey, PluginId};
use services::plugin_data::{self, KeptData};
use std::io::IsTerminal;
use std::path::Path;

#[derive(clap::Args)]
pub(in crate::cli) struct EarlierDataOption {
    /// If an earlier plugin of this name, from another source, has left data: give it to this one, keep it for the earlier one, or
    /// remove it. Default: ask; without a terminal and with --yes, keep it.
    #[arg(long, value_name = "CHOICE")]
    earlier_data: Option<Choice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    TakeOver,
    Keep,
    Remove,
}

/// The decision. It is carried out only after the plugin is installed.
pub(super) struct EarlierData {
    /// The data that the new plugin finds.
    pub(super) data: DataKey,
    remove: Vec<DataKey>,
}

/// Where a plugin with this data came from.
pub(super) fn origin(data: &DataKey) -> String {
    match data.source() {
        Some(source) => format!("from {}", printable(source)),
        None => "in a configuration file, or installed by an earlier version".to_owned(),
    }
}

impl EarlierDataOption {
    /// `own` is the key of the plugin that is to be installed. Without `asks`, the user is not asked. None if the user was
    /// asked at the terminal and gave no answer.
    pub(super) async fn decide(
        &self,
        context: &InstallContext,
        id: &PluginId,
        own: DataKey,
        asks: bool,
    ) -> anyhow::Result<Option<EarlierData>> {
        let kept = plugin_data::kept(&context.config.host_environment(), id, &own).await?;
        anyhow::ensure!(
            self.earlier_data != Some(Choice::TakeOver) || kept.len() <= 1,
            "there is data of several plugins [{id}], {}: choose one at the terminal, without --earlier-data",
            kept.keys().map(origin).collect::<Vec<_>>().join("; ")
        );
        let mut decided = EarlierData { data: own.clone(), remove: Vec::new() };
        for (data, kept) in kept {
            let (origin, place) = (origin(&data), context.state().display());
            if data == own {
                println!("\n! There is data of the same plugin of before: {kept}, in {place}.");
                continue;
            }
            println!("\n! There is data of an earlier [{id}] {origin}: {kept}, in {place}.");
            let has_taken_over = decided.data != own;
            let choice = match self.earlier_data {
                Some(choice) => choice,
                None if has_taken_over || !asks || !std::io::stdin().is_terminal() => Choice::Keep,
                None => match ask() {
                    Some(choice) => choice,
                    None => return Ok(None),
                },
            };
            match choice {
                Choice::TakeOver => decided.data = data,
                Choice::Keep => println!("  It is kept, and the new plugin does not find it."),
                Choice::Remove => decided.remove.push(data),
            }
        }
        Ok(Some(decided))
    }
}

impl EarlierData {
    /// Removes what is to be removed.
    pub(super) async fn carry_out(&self, context: &InstallContext, id: &PluginId) -> anyhow::Result<()> {
        for data in &self.remove {
            remove(context, id, data).await?;
        }
        Ok(())
    }
}

/// None at the end of input.
fn ask() -> Option<Choice> {
    loop {
        let input = read_line("  Keep it for that one, give it to the new one, or remove it? [K/g/r] ")?;
        match input.to_ascii_lowercase().as_str() {
            "" | "k" | "keep" => return Some(Choice::Keep),
            "g" | "give" => return Some(Choice::TakeOver),
            "r" | "remove" => return Some(Choice::Remove),
            _ => println!("  Type k, g or r; Enter keeps it."),
        }
    }
}

/// Removes data, unless it may be that of another configuration in the same state folder.
pub(super) async fn remove(context: &InstallContext, id: &PluginId, data: &DataKey) -> anyhow::Result<()> {
    let others = context.plugins.others_with(id, data)?;
    if let Some(other) = others.first() {
        println!("The data {} stays: {} has it, too.", origin(data), printable(&other.display().to_string()));
    } else if data.source().is_none() && context.config.default_state.is_none() {
        println!("The data {} stays: other configurations may use this state folder.", origin(data));
    } else {
        plugin_data::forget(&context.config.host_environment(), data).await?;
        println!("The data {} is removed.", origin(data));
    }
    Ok(())
}

/// Describes what is removed with a plugin, for the question that comes before.
pub(super) fn removed_with(kept: Option<&KeptData>, keep: bool, place: &Path) -> String {
    match kept {
        None => "its grants".to_owned(),
        Some(kept) if keep => format!("its grants, and keep its data ({kept}, in {})", place.display()),
        Some(kept) => format!("its grants and its data ({kept}, in {})", place.display()),
    }
}
