//! `--key-file`: which server each API key is for.

use std::collections::BTreeMap;
use std::path::Path;

/// The file with the API key of each server, by the server's name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct KeyFiles(BTreeMap<String, String>);

impl KeyFiles {
    /// Assigns `[NAME=]FILE` to the servers of `NAME=URL`. The error is a sentence.
    pub(super) fn new(connect: &[String], files: &[String]) -> Result<Self, String> {
        let servers = connect.iter().filter_map(|text| text.split_once('='));
        let remote: Vec<_> = servers.filter(|(_, address)| is_url(address)).map(|(name, _)| name.trim()).collect();
        // A name without an address is that of a remembered server.
        let known: Vec<_> = connect.iter().filter(|text| !text.contains('=')).map(String::as_str).collect();
        let all: Vec<_> = remote.iter().chain(&known).copied().collect();
        let mut assigned = BTreeMap::new();
        for text in files {
            let named = text.split_once('=').filter(|(name, _)| all.contains(name));
            let (server, file) = match (named, &all[..]) {
                (Some((name, file)), _) => (name, file),
                (None, [only]) => (*only, text.as_str()),
                (None, []) => return Err(format!("--key-file {text}: no --connect NAME=URL is there to use it")),
                (None, _) => {
                    return Err(format!("--key-file {text}: write NAME=FILE; NAME is one of {}", all.join(", ")));
                }
            };
            // The path is remembered with the server, so it must be valid from any folder.
            let file = std::path::absolute(Path::new(file)).map_err(|error| format!("--key-file {text}: {error}"))?;
            if assigned.insert(server.to_owned(), file.display().to_string()).is_some() {
                return Err(format!("--key-file {text}: {server} has two keys"));
            }
        }
        Ok(Self(assigned))
    }

    pub(super) fn of_server(&self, name: &str) -> Option<String> {
        self.0.get(name.trim()).cloned()
    }
}

pub(super) fn is_url(address: &str) -> bool {
    let address = address.trim();
    address.starts_with("http://") || address.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(connect: &[&str], files: &[&str]) -> Result<Vec<(String, String)>, String> {
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        KeyFiles::new(&owned(connect), &owned(files)).map(|files| files.0.into_iter().collect())
    }

    #[test]
    fn a_key_is_for_one_server() {
        let one = |name: &str, file: &str| vec![(name.to_owned(), file.to_owned())];
        assert_eq!(assigned(&["a=https://a/mcp"], &["/k"]), Ok(one("a", "/k")));
        assert_eq!(assigned(&["a=https://a/mcp", "b=program x=y"], &["/k=1"]), Ok(one("a", "/k=1")));
        assert_eq!(assigned(&["a=https://a/mcp", "b=http://b/mcp"], &["b=/k"]), Ok(one("b", "/k")));
        assert_eq!(assigned(&["a"], &["/k"]), Ok(one("a", "/k")));
        for (connect, files, word) in [
            (&["a=https://a/mcp", "b=http://b/mcp"][..], &["/k"][..], "one of a, b"),
            (&["b=program"], &["/k"], "no --connect NAME=URL"),
            (&[], &["/k"], "no --connect NAME=URL"),
            (&["a=https://a/mcp"], &["/k", "/l"], "two keys"),
        ] {
            assert!(assigned(connect, files).is_err_and(|error| error.contains(word)), "{connect:?} {files:?}");
        }
    }
}
