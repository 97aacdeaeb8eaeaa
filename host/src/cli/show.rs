//! A plugin in words: what it is, what it offers, what it wants and what it gets.

use super::terminal::grouped;
use crate::imports::Tool;
use crate::package::{Digest, Inspection};
use crate::policy::Metering;
use crate::registry::Plugin;
use crate::telemetry::printable;
use bytesize::ByteSize;

/// A loaded plugin.
pub(super) fn plugin(plugin: &Plugin) {
    println!("[{}] {}", plugin.id().table(), plugin.spec.source.display());
    component(&plugin.digest, &plugin.inspection);
    println!("\ngrants (what is also requested takes effect)");
    let mounts = plugin.authority.mounts();
    for mount in mounts {
        println!("  filesystem   {} -> {} ({})", mount.host.display(), mount.guest, mount.access);
    }
    for pattern in &plugin.spec.grants.agent_tools {
        println!("  agent-tools  {}", pattern.as_str());
    }
    if mounts.is_empty() && plugin.spec.grants.agent_tools.is_empty() {
        println!("  nothing");
    }
    for idle in plugin.authority.idle_grants() {
        println!("  note: the grant `{idle}` has no effect, the plugin does not request it");
    }
    let limits = &plugin.spec.limits;
    let meter = match limits.metering {
        Metering::Fuel => format!("{} fuel", grouped(limits.fuel)),
        Metering::Ticks => format!("{} CPU time", humantime::format_duration(limits.cpu)),
    };
    println!(
        "\nlimits\n  {meter}, {} memory, {} deadline, {} output",
        limits.memory,
        humantime::format_duration(limits.deadline),
        limits.output
    );
    println!("\ntools");
    for entry in &plugin.tools {
        tool(&entry.tool);
    }
}

/// A component: identity, requests, imports.
pub(super) fn component(digest: &Digest, inspection: &Inspection) {
    if let Some(manifest) = &inspection.manifest {
        println!("{} {}", printable(&manifest.name), printable(&manifest.version));
        if let Some(description) = &manifest.description {
            println!("{}", printable(description));
        }
    }
    println!("{digest}\n{} component, portcullis:plugin {}", ByteSize(inspection.size), crate::package::API_VERSION);
    println!("\nrequests");
    match &inspection.manifest {
        None => println!("  nothing (it has no manifest)"),
        Some(manifest) => {
            let requests = &manifest.requests;
            if let Some(access) = requests.filesystem {
                println!("  filesystem   {access}");
            }
            for pattern in &requests.agent_tools {
                println!("  agent-tools  {}", pattern.as_str());
            }
            if requests.filesystem.is_none() && requests.agent_tools.is_empty() {
                println!("  nothing");
            }
        }
    }
    println!("\nimports");
    for import in &inspection.imports {
        println!("  {}", printable(import));
    }
}

/// A tool with its schemas.
pub(super) fn tool(tool: &Tool) {
    let hints = [
        (tool.annotations.read_only, "read-only"),
        (tool.annotations.destructive, "destructive"),
        (tool.annotations.idempotent, "idempotent"),
        (tool.annotations.open_world, "open-world"),
    ];
    let hints: Vec<_> = hints.iter().filter(|(hint, _)| *hint == Some(true)).map(|(_, name)| *name).collect();
    let hints = if hints.is_empty() { String::new() } else { format!(" ({})", hints.join(", ")) };
    println!("  {}{hints}", tool.name);
    for line in tool.description.lines() {
        println!("    {}", printable(line));
    }
    println!("    input  {}", printable(&tool.input_schema));
    if let Some(schema) = &tool.output_schema {
        println!("    output {}", printable(schema));
    }
}
