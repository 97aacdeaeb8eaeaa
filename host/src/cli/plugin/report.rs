//! Prints what an operator reviews before consent. The plugin's text is escaped and never shortened.

use crate::cli::show;
use bytesize::ByteSize;
use platform::telemetry::printable;
use plugins::install::{Candidate, PluginVersion, VersionChange, diff_offers};
use plugins::offer::find_suspicions;
use plugins::package::Claims;
use policy::PluginId;
use runtime::imports::Offer;

/// Prints a component before its first installation.
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
        None => println!("  signed  by nobody: only the source vouches for its author"),
    }
    show::claims(&version.claims, &version.published_claims);
    show::offered_items(&examined.offer);
    println!("\nIt imports (without a grant these return an error or nothing)");
    show::imports(&version.imports);
    show::suspicious(&find_suspicions(&examined.offer));
    // Last, since long schemas scroll away what comes before them.
    println!("\nIt requests");
    let wants = version.requests.described();
    for want in &wants {
        println!("! {:<14} {}", want.key, printable(&want.detail));
        println!("  {:<14}   it {}", "", want.effect);
    }
    if wants.is_empty() {
        println!("  nothing");
    }
}

/// Warnings about a component before its first installation.
pub(super) fn warnings(new: &Candidate) -> Vec<String> {
    let unsigned = new.version.signer.is_none().then(|| "it is not signed".to_owned());
    unsigned.into_iter().chain(suspicion_warning(find_suspicions(&new.examined.offer).len())).collect()
}

fn suspicion_warning(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} passages of its text may try to manipulate models, see above"))
}

/// Prints the differences to a newer version. Those that need consent come first.
pub(super) fn changes(changes: &[VersionChange]) {
    let (needs_consent, other): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.needs_consent);
    for change in needs_consent.into_iter().chain(other) {
        let mark = if change.needs_consent { "!" } else { " " };
        println!("  {mark} {}", printable(&change.line));
    }
}

/// Prints suspicious passages that are new. Returns warnings.
pub(super) fn new_suspicions(old: &Offer, new: &Offer) -> Vec<String> {
    let before = find_suspicions(old);
    let odd: Vec<_> = find_suspicions(new).into_iter().filter(|odd| !before.contains(odd)).collect();
    show::suspicious(&odd);
    suspicion_warning(odd.len()).into_iter().collect()
}

/// Prints changed texts line by line.
pub(super) fn changed_texts(old: &Offer, new: &Offer) {
    for line in diff_offers(old, new) {
        println!("      {}", printable(&line));
    }
}

/// Prints a version that is not loaded.
pub(super) fn version(heading: &str, version: &PluginVersion) {
    let text = version.version.as_deref().unwrap_or("without version");
    let signer = version.signer.as_deref().unwrap_or("nobody");
    println!("\n{heading}\n  {} {} ({})", printable(text), version.digest, ByteSize(version.size));
    println!("  {}, fetched {}", printable(&version.resolved), humantime::format_rfc3339_seconds(version.fetched));
    println!("  signed by {}", printable(signer));
    show::claims(&Claims::default(), &version.published_claims);
}
