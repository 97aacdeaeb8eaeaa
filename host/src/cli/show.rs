//! Prints a plugin: identity, offer, requests, grants and limits.

use super::layout;
use super::text::group_digits;
use bytesize::ByteSize;
use platform::telemetry::printable;
use plugins::catalog::Plugin;
use plugins::install::group_imports;
use plugins::loading::ExaminedComponent;
use plugins::offer::{Suspicion, find_suspicions, find_unportable};
use plugins::package::{Claims, Digest, Inspection};
use policy::{Metering, Survive};
use runtime::abi::Dialect;
use runtime::imports::{Offer, Prompt, ResourceInfo, ResourceTemplate, Tool};

/// Prints a loaded plugin and its component.
pub(super) fn plugin(plugin: &Plugin, examined: &ExaminedComponent) {
    println!("[{}] {}", plugin.id().table(), plugin.spec.source.display());
    component(&plugin.digest, Some(&plugin.definitions), &examined.inspection);
    println!("\ngrants (what is also requested takes effect)");
    lines(&plugin.spec.grants.lines(plugin.authority.mounts()));
    for idle in plugin.authority.unrequested_grants() {
        println!("  note: the grant `{idle}` has no effect, the plugin does not request it");
    }
    let limits = &plugin.spec.limits;
    let meter = match limits.metering {
        Metering::Fuel => format!("{} fuel", group_digits(limits.fuel)),
        Metering::Ticks => format!("{} CPU time", humantime::format_duration(limits.cpu)),
    };
    println!(
        "\nlimits\n  {meter}, {} memory, {} deadline, {} output",
        limits.memory,
        humantime::format_duration(limits.deadline()),
        limits.output
    );
    offer(&examined.offer);
}

/// Prints everything that a component offers, and suspicious passages.
pub(super) fn offer(offer: &Offer) {
    suspicious(&find_suspicions(offer));
    let unportable = offer.tools.iter().flat_map(find_unportable).collect::<Vec<_>>();
    section("what some clients cannot read (they may lose all tools for it)", unportable.iter(), |part| {
        println!("! {}", printable(part));
    });
    offered_items(offer);
}

/// Prints everything that a component offers.
pub(super) fn offered_items(offer: &Offer) {
    tools(offer.tools.iter());
    resources(offer.resources.iter());
    templates(offer.templates.iter());
    prompts(offer.prompts.iter());
}

/// Prints a component: identity, requests, imports.
pub(super) fn component(digest: &Digest, definitions: Option<&Digest>, inspection: &Inspection) {
    if let Some(manifest) = &inspection.manifest {
        println!("{} {}", printable(&manifest.name), printable(&manifest.version));
        if let Some(description) = &manifest.description {
            println!("{}", printable(description));
        }
    }
    println!("{digest}");
    definitions.iter().for_each(|definitions| println!("definitions {definitions}"));
    let kind = match (inspection.api_version(), inspection.dialect()) {
        (Some(version), dialect) => format!("component, {dialect} {version}"),
        (None, Dialect::Plain) => "plain component: its functions, or its program, are tools".to_owned(),
        (None, dialect) => format!("component for another host, {dialect}, run by an adapter"),
    };
    println!("{} {kind}", ByteSize(inspection.size));
    claims(&inspection.claims, &Claims::default());
    println!("\nrequests");
    match &inspection.manifest {
        None => println!("  nothing (it has no manifest)"),
        Some(manifest) => {
            lines(&manifest.requests.lines());
            if manifest.survive == Some(Survive::PowerLoss) {
                println!(
                    "  that the steps of its tasks survive a loss of power, unless limits.survive says something else"
                );
            }
        }
    }
    println!("\nimports");
    imports(&inspection.imports);
}

/// Prints what a component imports, by purpose.
pub(super) fn imports(names: &[String]) {
    for (means, names) in group_imports(names) {
        let names: Vec<_> = names.into_iter().map(printable).collect();
        println!("  {means}\n{}", layout::names(names.iter().map(AsRef::as_ref), 6));
    }
}

/// Prints the claims of the component and of the registry. Where they differ, both are shown.
pub(super) fn claims(own: &Claims, published: &Claims) {
    if own.is_empty() && published.is_empty() {
        return;
    }
    println!("\nclaims (not verified)");
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

/// Prints suspicious passages.
pub(super) fn suspicious(suspicions: &[Suspicion]) {
    section("suspicious passages (a hint, not a proof; models will read this text)", suspicions.iter(), |odd| {
        println!("! {odd}");
    });
}

fn tools<'a>(tools: impl Iterator<Item = &'a Tool>) {
    section("tools", tools, tool);
}

fn resources<'a>(resources: impl Iterator<Item = &'a ResourceInfo>) {
    section("resources", resources, |it| line(&it.uri, &it.name, it.mime_type.as_deref(), it.description.as_deref()));
}

fn templates<'a>(templates: impl Iterator<Item = &'a ResourceTemplate>) {
    section("resource templates", templates, |it| {
        line(&it.uri_template, &it.name, it.mime_type.as_deref(), it.description.as_deref());
    });
}

fn prompts<'a>(prompts: impl Iterator<Item = &'a Prompt>) {
    section("prompts", prompts, |prompt| {
        let arguments =
            prompt.arguments.iter().map(|it| if it.required { it.name.clone() } else { format!("[{}]", it.name) });
        println!("  {}({})", printable(&prompt.name), arguments.collect::<Vec<_>>().join(", "));
        print_description(prompt.description.as_deref());
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

/// Prints a heading and items; nothing without items.
fn section<'a, T: 'a>(heading: &str, items: impl Iterator<Item = &'a T>, show: impl Fn(&'a T)) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        println!("\n{heading}");
    }
    items.for_each(show);
}

fn line(address: &str, name: &str, mime_type: Option<&str>, description: Option<&str>) {
    let kind = mime_type.map(|text| format!(" ({})", printable(text))).unwrap_or_default();
    println!("  {}  {}{kind}", printable(address), printable(name));
    print_description(description);
}

fn print_description(description: Option<&str>) {
    for line in description.unwrap_or_default().lines() {
        println!("    {}", printable(line));
    }
}

/// Prints a tool and its schemas.
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
    print_description(Some(&tool.description));
    println!("{}", layout::json("input ", &printable(&tool.input_schema), 4));
    if let Some(schema) = &tool.output_schema {
        println!("{}", layout::json("output", &printable(schema), 4));
    }
}
