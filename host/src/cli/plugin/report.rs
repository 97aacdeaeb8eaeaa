//! What an operator is shown before agreeing. Whatever the plugin wrote is escaped, and nothing of it is left out.

use super::super::{layout, show};
use bytesize::ByteSize;
use platform::telemetry::printable;
use plugins::install::{Candidate, Change, Version, texts, words};
use plugins::package::Claims;
use plugins::registry::suspicions;
use policy::PluginId;
use runtime::imports::Offer;

/// A component that was fetched, for the first time: what it could do first, what it merely is last.
pub(super) fn candidate(id: &PluginId, reference: &str, new: &Candidate) {
    let Candidate { version, examined, .. } = new;
    if let Some(manifest) = &examined.inspection.manifest {
        println!("{} {}", printable(&manifest.name), printable(&manifest.version));
        if let Some(description) = manifest.description.as_ref().filter(|text| !text.is_empty()) {
            println!("  {}", printable(description));
        }
    }
    println!("\n  to be   [{}]\n  from    {}", id.table(), printable(reference));
    if version.resolved != reference {
        println!("          {}", printable(&version.resolved));
    }
    println!("  digest  {}\n  size    {}", version.digest, ByteSize(version.size));
    match &version.signer {
        Some(signer) => println!("  signed  by {}", printable(signer)),
        None => println!("  signed  by nobody: that these are its author's bytes is what the source says"),
    }
    println!("\nIt asks for");
    let wants = words::wants(&version.requests);
    for want in &wants {
        println!("! {:<14} {}", want.key, printable(&want.what));
        println!("  {:<14}   it {}", "", want.means);
    }
    if wants.is_empty() {
        println!("  nothing");
    }
    show::odd(&suspicions(&examined.offer));
    show::claims(&version.claims, &version.published_claims);
    show::things(&examined.offer);
    println!("\nIt imports (without a grant these answer with an error, or with nothing)");
    for (means, names) in words::imports(&version.imports) {
        let names: Vec<_> = names.into_iter().map(printable).collect();
        println!("  {means}\n{}", layout::names(names.iter().map(AsRef::as_ref), 6));
    }
}

/// What of a first look should not be overlooked.
pub(super) fn mind(new: &Candidate) -> Vec<String> {
    let unsigned = new.version.signer.is_none().then(|| "it is signed by nobody".to_owned());
    unsigned.into_iter().chain(twice(suspicions(&new.examined.offer).len())).collect()
}

fn twice(count: usize) -> Option<String> {
    (count > 0)
        .then(|| format!("look twice at what it says of itself: {count} passages may be meant for models, see above"))
}

/// What differs between what is installed and something newer: what needs consent first.
pub(super) fn changes(changes: &[Change]) {
    let (grave, other): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.needs_consent);
    for change in grave.into_iter().chain(other) {
        let mark = if change.needs_consent { "!" } else { " " };
        println!("  {mark} {}", printable(&change.line));
    }
}

/// Passages that may be meant for models and were not there before; what should not be overlooked of it.
pub(super) fn newly_odd(old: &Offer, new: &Offer) -> Vec<String> {
    let before = suspicions(old);
    let odd: Vec<_> = suspicions(new).into_iter().filter(|odd| !before.contains(odd)).collect();
    show::odd(&odd);
    twice(odd.len()).into_iter().collect()
}

/// What is said otherwise, line by line.
pub(super) fn words_changed(old: &Offer, new: &Offer) {
    for line in texts(old, new) {
        println!("      {}", printable(&line));
    }
}

/// A version that is not loaded.
pub(super) fn version(heading: &str, version: &Version) {
    let text = version.version.as_deref().unwrap_or("without version");
    let signer = version.signer.as_deref().unwrap_or("nobody");
    println!("\n{heading}\n  {} {} ({})", printable(text), version.digest, ByteSize(version.size));
    println!("  {}, fetched {}", printable(&version.resolved), humantime::format_rfc3339_seconds(version.fetched));
    println!("  signed by {}", printable(signer));
    show::claims(&Claims::default(), &version.published_claims);
}
