//! Which dialect of WIT a component speaks, recognized once by the names of its exports.

use std::fmt;

/// The dialects, in the order in which one is chosen if a component exports several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// `portcullis:plugin`, in any version.
    Portcullis,
    /// `wasmcp:mcp-v20251125@0.1.x`.
    Wasmcp20251125,
    /// `wasmcp:mcp-v20250618@0.1.x`.
    Wasmcp20250618,
    /// `act:tools-sync@0.1.x`.
    ActSync,
    /// `act:tools`, which is asynchronous and is not run here.
    ActAsync,
    /// `wasix:mcp`, in any version.
    Wasix,
    /// Functions of its own, or a program.
    Plain,
}

/// What an export of each dialect begins with.
const PREFIXES: [(&str, Dialect); 6] = [
    ("portcullis:plugin/", Dialect::Portcullis),
    ("wasmcp:mcp-v20251125/", Dialect::Wasmcp20251125),
    ("wasmcp:mcp-v20250618/", Dialect::Wasmcp20250618),
    ("act:tools-sync/tool-provider-sync@", Dialect::ActSync),
    ("act:tools/tool-provider@", Dialect::ActAsync),
    ("wasix:mcp/router@", Dialect::Wasix),
];

impl Dialect {
    pub fn of_exports<'a>(exports: impl Iterator<Item = &'a str>) -> Self {
        let dialect = |name: &str| PREFIXES.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, it)| it);
        exports.filter_map(dialect).min().unwrap_or(Self::Plain)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portcullis => "portcullis:plugin",
            Self::Wasmcp20251125 => "wasmcp:mcp-v20251125",
            Self::Wasmcp20250618 => "wasmcp:mcp-v20250618",
            Self::ActSync => "act:tools-sync",
            Self::ActAsync => "act:tools",
            Self::Wasix => "wasix:mcp",
            Self::Plain => "plain",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_wins_then_the_newer_protocol() {
        let of = |exports: &[&str]| Dialect::of_exports(exports.iter().copied());
        let (own, new, old) =
            ("portcullis:plugin/tools@0.1.0", "wasmcp:mcp-v20251125/tools@0.1.1", "wasmcp:mcp-v20250618/tools@0.1.8");
        assert_eq!(of(&[old, new, own, "area"]), Dialect::Portcullis);
        assert_eq!(of(&[old, "area", new]), Dialect::Wasmcp20251125);
        assert_eq!(of(&["wasi:cli/run@0.2.3", old]), Dialect::Wasmcp20250618);
        let (act, sync, wasix) =
            ("act:tools/tool-provider@0.2.0", "act:tools-sync/tool-provider-sync@0.1.0", "wasix:mcp/router@25.6.18");
        assert_eq!((of(&[wasix, act, sync]), of(&[wasix, act])), (Dialect::ActSync, Dialect::ActAsync));
        assert_eq!((of(&[wasix, sync, old]), of(&["area", wasix])), (Dialect::Wasmcp20250618, Dialect::Wasix));
        for plain in [&["area", "acme:wasmcp/tools@0.1.1", "wasmcp:mcp/tools@0.1.1"][..], &[]] {
            assert_eq!(of(plain), Dialect::Plain, "{plain:?}");
        }
    }
}
