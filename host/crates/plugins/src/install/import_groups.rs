//! Groups the interfaces that a plugin imports by their purpose, in plain language.

use policy::CAPABILITY_IMPORTS;

/// Groups imports by purpose, the most powerful first. An import is not a permission: without a grant it returns an
/// error, or nothing.
pub fn group_imports(names: &[String]) -> Vec<(&'static str, Vec<&str>)> {
    let known: Vec<_> = CAPABILITY_IMPORTS.iter().flatten().chain(HARMLESS).collect();
    let purpose = |name: &str| {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        known.iter().find(|(prefixes, _)| begins(prefixes)).map_or(UNKNOWN, |(_, purpose)| purpose)
    };
    let mut groups: Vec<(&'static str, Vec<&str>)> = Vec::new();
    for group in known.iter().map(|(_, purpose)| *purpose).chain([UNKNOWN]) {
        let of_group: Vec<&str> = names.iter().map(String::as_str).filter(|name| purpose(name) == group).collect();
        // Capabilities can share a purpose.
        if !of_group.is_empty() && groups.iter().all(|(known, _)| *known != group) {
            groups.push((group, of_group));
        }
    }
    groups
}

const UNKNOWN: &str = "unknown to this host";

/// Interfaces that give no access to anything, by the beginnings of their names, and their purpose.
const HARMLESS: &[(&[&str], &str)] = &[
    (&["wasi:sockets/"], "network sockets, which are always refused"),
    (
        &[
            "portcullis:plugin/types@",
            "portcullis:plugin/output@",
            "portcullis:plugin/progress@",
            "portcullis:plugin/log@",
            "portcullis:plugin/meter@",
            "portcullis:plugin/steering@",
            "portcullis:plugin/checkpoint@",
            "wasmcp:mcp-v20251125/",
            "wasmcp:mcp-v20250618/",
            "wasmcp:auth/types@",
            "act:core/types@",
            "act:tools/types@",
        ],
        "its own call: output, progress, log, remaining budget; always allowed, within limits",
    ),
    (
        &["wasi:clocks/", "wasi:random/", "wasi:io/", "wasi:cli/"],
        "the time, random numbers, streams, an empty environment; always allowed, within limits",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_grouped_by_purpose() {
        let names =
            ["wasi:io/poll@0.2.3", "wasi:http/types@0.2.3", "evil:thing/x@1.0.0", "portcullis:plugin/log@0.1.0"];
        let owned = names.map(String::from);
        let groups = group_imports(&owned);
        let firsts: Vec<_> = groups.iter().map(|(_, names)| names[0]).collect();
        assert_eq!(firsts, ["wasi:http/types@0.2.3", names[3], names[0], "evil:thing/x@1.0.0"]);
        assert!(groups[3].0.contains("unknown"));
    }
}
