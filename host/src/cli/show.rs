//! A plugin in words: what it is, what it offers, what it wants and what it gets.

use super::terminal::grouped;
use super::{authority, layout};
use bytesize::ByteSize;
use platform::telemetry::printable;
use plugins::package::{Claims, Digest, Inspection};
use plugins::registry::{Plugin, Suspicion, suspicions};
use policy::Metering;
use runtime::imports::{Offer, Prompt, ResourceInfo, ResourceTemplate, Tool};

/// A loaded plugin.
pub(super) fn plugin(plugin: &Plugin) {
    println!("[{}] {}", plugin.id().table(), plugin.spec.source.display());
    component(&plugin.digest, Some(&plugin.definitions), &plugin.inspection);
    println!("\ngrants (what is also requested takes effect)");
    lines(&authority::granted(&plugin.spec.grants, plugin.authority.mounts()));
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
    odd(&plugin.suspicions);
    tools(plugin.tools.iter().map(|entry| &entry.tool));
    resources(plugin.resources.iter());
    templates(plugin.templates.iter().map(|entry| &entry.template));
    prompts(plugin.prompts.iter());
}

/// Everything a component offers.
pub(super) fn offer(offer: &Offer) {
    odd(&suspicions(offer));
    things(offer);
}

/// The same without pointing at anything.
pub(super) fn things(offer: &Offer) {
    tools(offer.tools.iter());
    resources(offer.resources.iter());
    templates(offer.templates.iter());
    prompts(offer.prompts.iter());
}

/// A component: identity, requests, imports. What it offers is known only of one that was compiled.
pub(super) fn component(digest: &Digest, definitions: Option<&Digest>, inspection: &Inspection) {
    if let Some(manifest) = &inspection.manifest {
        println!("{} {}", printable(&manifest.name), printable(&manifest.version));
        if let Some(description) = &manifest.description {
            println!("{}", printable(description));
        }
    }
    println!("{digest}");
    definitions.iter().for_each(|definitions| println!("definitions {definitions}"));
    println!("{} component, portcullis:plugin {}", ByteSize(inspection.size), plugins::package::API_VERSION);
    claims(&inspection.claims, &Claims::default());
    println!("\nrequests");
    match &inspection.manifest {
        None => println!("  nothing (it has no manifest)"),
        Some(manifest) => lines(&authority::requested(&manifest.requests)),
    }
    println!("\nimports");
    for import in &inspection.imports {
        println!("  {}", printable(import));
    }
}

/// What is claimed of a component, by itself and where it is published. Where the two differ, both are shown.
pub(super) fn claims(own: &Claims, published: &Claims) {
    if own.is_empty() && published.is_empty() {
        return;
    }
    println!("\nclaims (nobody has checked them)");
    let row = |key: &str, text: &str, by: &str| println!("  {key:<12}  {}{by}", printable(text));
    for (key, text) in own.iter() {
        match published.get(key) {
            Some(other) if other != text => row(key, text, " (says the component)"),
            _ => row(key, text, ""),
        }
    }
    for (key, text) in published.iter().filter(|(key, text)| own.get(key) != Some(*text)) {
        row(key, text, " (says the registry)");
    }
}

/// Words that a reviewer should look at twice.
pub(super) fn odd(suspicions: &[Suspicion]) {
    under("look twice (a hint, not a proof: the words below are what models will read)", suspicions.iter(), |odd| {
        println!("! {odd}");
    });
}

fn tools<'a>(tools: impl Iterator<Item = &'a Tool>) {
    under("tools", tools, tool);
}

fn resources<'a>(resources: impl Iterator<Item = &'a ResourceInfo>) {
    under("resources", resources, |it| line(&it.uri, &it.name, it.mime_type.as_deref(), it.description.as_deref()));
}

fn templates<'a>(templates: impl Iterator<Item = &'a ResourceTemplate>) {
    under("resource templates", templates, |it| {
        line(&it.uri_template, &it.name, it.mime_type.as_deref(), it.description.as_deref());
    });
}

fn prompts<'a>(prompts: impl Iterator<Item = &'a Prompt>) {
    under("prompts", prompts, |prompt| {
        let arguments =
            prompt.arguments.iter().map(|it| if it.required { it.name.clone() } else { format!("[{}]", it.name) });
        println!("  {}({})", printable(&prompt.name), arguments.collect::<Vec<_>>().join(", "));
        words(prompt.description.as_deref());
    });
}

fn lines(authority: &[(&str, String)]) {
    for (key, what) in authority {
        println!("  {key:<14}  {}", printable(what));
    }
    if authority.is_empty() {
        println!("  nothing");
    }
}

/// A heading and what is under it; nothing when there is nothing.
fn under<'a, T: 'a>(heading: &str, items: impl Iterator<Item = &'a T>, show: impl Fn(&'a T)) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        println!("\n{heading}");
    }
    items.for_each(show);
}

fn line(address: &str, name: &str, mime_type: Option<&str>, description: Option<&str>) {
    let kind = mime_type.map(|text| format!(" ({})", printable(text))).unwrap_or_default();
    println!("  {}  {}{kind}", printable(address), printable(name));
    words(description);
}

fn words(description: Option<&str>) {
    for line in description.unwrap_or_default().lines() {
        println!("    {}", printable(line));
    }
}

/// A tool with its schemas.
fn tool(tool: &Tool) {
    let hints = [
        (tool.annotations.read_only, "read-only"),
        (tool.annotations.destructive, "destructive"),
        (tool.annotations.idempotent, "idempotent"),
        (tool.annotations.open_world, "open-world"),
    ];
    let hints: Vec<_> = hints.iter().filter(|(hint, _)| *hint == Some(true)).map(|(_, name)| *name).collect();
    let hints = if hints.is_empty() { String::new() } else { format!(" ({})", hints.join(", ")) };
    println!("  {}{hints}", printable(&tool.name));
    words(Some(&tool.description));
    println!("{}", layout::json("input ", &printable(&tool.input_schema), 4));
    if let Some(schema) = &tool.output_schema {
        println!("{}", layout::json("output", &printable(schema), 4));
    }
}
