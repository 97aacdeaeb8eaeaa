//! Public MCP servers, asked for their tools directly and through the gateway: what is lost on the way, why, and what else differs.

mod differences;
mod direct;
mod gateway;
mod list;

use crate::Home;
use differences::Differences;
use list::Listed;
use serde_json::Value;
use std::collections::BTreeMap;

/// The number of servers that must list their tools directly. With fewer, the table says little.
const LEAST: usize = 40;
/// How many lost tools a row names; the others are counted.
const NAMED: usize = 3;

/// What came of one server that lists its tools directly.
struct Compared {
    direct: usize,
    through: usize,
    /// Why the gateway shows nothing.
    failure: Option<String>,
    /// The tools that are lost, each with the host's reason.
    lost: Vec<(String, Option<String>)>,
    differences: Differences,
}

/// Prints the table of these servers, or of all; whether nothing is lost without a reason, and nothing changed that the
/// documentation of the gateway does not name.
#[allow(clippy::print_stdout, reason = "for programs that people run at a terminal; no MCP wire here")]
pub fn report(only: &[String]) -> bool {
    let mut servers: Vec<_> =
        list::ALL.iter().filter(|it| only.is_empty() || only.iter().any(|name| name == it.package)).collect();
    servers.sort_by_key(|server| server.package.trim_start_matches('@'));
    let (mut wrong, mut listing, mut seen) = (Vec::new(), 0, [0, 0]);
    println!(
        "| server | version | tools | through Portcullis | lost, and why | what else differs |\n|---|---|--:|--:|---|---|"
    );
    if servers.is_empty() {
        wrong.push("no server is of a package of these names".into());
    }
    for server in &servers {
        let shown = format!("| {} | {} |", server.package, server.version().unwrap_or_default());
        match compare(server) {
            Ok(compared) => {
                println!(
                    "{shown} {} | {} | {} | {} |",
                    compared.direct,
                    compared.through,
                    compared.told(),
                    compared.differences
                );
                wrong.extend(compared.wrong().into_iter().map(|wrong| format!("{}: {wrong}", server.package)));
                listing += 1;
                seen = [seen[0] + compared.direct, seen[1] + compared.through];
            }
            Err(why) => println!("{shown} none | not asked | {why} | |"),
        }
    }
    println!("| in all: {listing} | | {} | {} | | |", seen[0], seen[1]);
    if only.is_empty() && listing < LEAST {
        wrong.push(format!("only {listing} servers list their tools directly; the table needs {LEAST}"));
    }
    wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
    wrong.is_empty()
}

/// Lists the tools of a server both ways. The error says why it cannot be started directly.
fn compare(server: &Listed) -> Result<Compared, String> {
    let home = Home::new();
    let direct = direct::tools(server, &home)?;
    let through = gateway::tools(server, home);
    let mut found: BTreeMap<&str, &Value> =
        through.tools.iter().filter_map(|tool| Some((gateway::given_name(tool)?, tool))).collect();
    let (mut lost, mut differences) = (Vec::new(), Differences::default());
    for tool in &direct {
        let name = tool["name"].as_str().unwrap_or_default();
        match found.remove(name) {
            Some(shown) => differences.compare(tool, shown),
            None => lost.push((name.to_owned(), through.reason(name))),
        }
    }
    // The names that are left are of no tool that the server lists.
    found.keys().for_each(|name| differences.invented(name));
    Ok(Compared {
        direct: direct.len(),
        through: through.tools.len(),
        failure: through.failure.clone(),
        lost,
        differences,
    })
}

impl Compared {
    /// What is lost, in a cell.
    fn told(&self) -> String {
        let of = |(name, reason): &(String, Option<String>)| {
            format!("`{name}`: {}", reason.as_deref().unwrap_or("**no reason is given**"))
        };
        let more = self.lost.len().saturating_sub(NAMED);
        let named = self.lost.iter().take(NAMED).map(of);
        named.chain((more > 0).then(|| format!("{more} more"))).collect::<Vec<_>>().join("; ")
    }

    /// What must not be.
    fn wrong(&self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            return vec![failure.clone()];
        }
        let silent = self.lost.iter().filter(|(_, reason)| reason.is_none());
        let silent = silent.map(|(name, _)| format!("the tool `{name}` is lost, and the host's log does not say why"));
        silent.chain(self.differences.undocumented()).collect()
    }
}
