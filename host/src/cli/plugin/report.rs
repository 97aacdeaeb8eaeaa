//! What an operator is shown before agreeing. Whatever the plugin wrote is escaped, and nothing of it is left out.

use super::super::show;
use crate::imports::Offer;
use crate::install::{Candidate, Change, Version, texts, words};
use crate::policy::PluginId;
use crate::telemetry::printable;
use bytesize::ByteSize;

/// A component that was fetched, for the first time.
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
        Some(signer) => println!("  signed  {}", printable(signer)),
        None => println!("  signed  by nobody: that these are its author's bytes is what the source says"),
    }
    println!("\nIt asks for");
    let wants = words::wants(&version.requests);
    for want in &wants {
        println!("  {:<14} {}", want.key, printable(&want.what));
        println!("  {:<14}   it {}", "", want.means);
    }
    if wants.is_empty() {
        println!("  nothing");
    }
    println!("\nIt imports (without a grant these answer with an error, or with nothing)");
    for (means, names) in words::imports(&version.imports) {
        println!("  {means}");
        for name in names {
            println!("      {}", printable(name));
        }
    }
    show::offer(&examined.offer);
}

/// What differs between what is installed and something newer.
pub(super) fn changes(changes: &[Change]) {
    for change in changes {
        let mark = if change.needs_consent { "!" } else { " " };
        println!("  {mark} {}", printable(&change.line));
    }
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
}
