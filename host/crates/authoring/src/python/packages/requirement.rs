//! Requirements of a plugin or a package: a name and versions. Also which packages work without their compiled code, and what
//! to use in place of others.

use anyhow::ensure;

/// Packages whose compiled code only makes them faster, though an index has no wheel without it.
const WORK_WITHOUT: [&str; 3] = ["markupsafe", "pyyaml", "wrapt"];

/// What to take instead, by name.
const INSTEAD: [(&str, &str); 20] = [
    ("aiohttp", "`httpx` or `requests`: a plugin waits in place"),
    (
        "cryptography",
        "`hashlib` and `hmac` of the standard library, or `rsa` for signatures; the host does the encryption of requests",
    ),
    ("grpcio", "`httpx` or `requests`"),
    ("jsonschema-rs", "`jsonschema<4.18`"),
    ("levenshtein", "`difflib` of the standard library"),
    ("lxml", "`xml.etree.ElementTree` of the standard library; `html5lib` for HTML"),
    ("msgpack", "`u-msgpack-python`"),
    ("msgspec", "`json` and `dataclasses` of the standard library"),
    ("numpy", "`statistics`, `array` and `fractions` of the standard library, or a plugin in Rust"),
    ("orjson", "`json` of the standard library"),
    ("pandas", "`csv`, `sqlite3` and `statistics` of the standard library, or a plugin in Rust"),
    ("pillow", "`pypng` for PNG"),
    ("polars", "`csv`, `sqlite3` and `statistics` of the standard library, or a plugin in Rust"),
    ("pydantic-core", "`pydantic<2`"),
    ("rapidfuzz", "`difflib` of the standard library"),
    ("regex", "`re` of the standard library"),
    ("rpds-py", "for `jsonschema`, `jsonschema<4.18`"),
    ("scipy", "`sympy` for formulas, or a plugin in Rust"),
    ("ujson", "`json` of the standard library"),
    ("zstandard", "`zlib` or `gzip` of the standard library"),
];

/// Refuses what pip would take for an option, a path or an address: these lead to code that runs while it is installed.
pub(super) fn plain(dependency: &str) -> anyhow::Result<()> {
    let begins = dependency.starts_with(|first: char| first.is_ascii_alphanumeric());
    let leads_away = |letter: char| "@/\\".contains(letter) || letter.is_control();
    ensure!(
        begins && !dependency.contains(leads_away),
        "pyproject.toml: {dependency:?} is not a package of an index; write a name and versions, such as \"pypdf>=6\""
    );
    Ok(())
}

/// The name in a requirement, as packages are compared.
pub(super) fn name_of(requirement: &str) -> String {
    let end = |letter: char| !(letter.is_ascii_alphanumeric() || "._-".contains(letter));
    let name = requirement.trim().split(end).next().unwrap_or_default();
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// Whether a requirement is for this package.
pub(super) fn is(package: &str, requirement: &str) -> bool {
    name_of(package) == name_of(requirement)
}

pub(super) fn instead_of(requirement: &str) -> Option<&'static str> {
    let name = name_of(requirement);
    INSTEAD.iter().find(|(of, _)| *of == name).map(|(_, what)| *what)
}

pub(super) fn works_without(requirement: &str) -> bool {
    WORK_WITHOUT.contains(&name_of(requirement).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_an_index_does() {
        for (requirement, name) in
            [("MarkupSafe>=2.0", "markupsafe"), ("ruamel.yaml[x]", "ruamel-yaml"), ("a_b ; x", "a-b")]
        {
            assert_eq!(name_of(requirement), name);
        }
        assert!(works_without("MarkupSafe>=2.0") && !works_without("numpy"));
        assert!(instead_of("NumPy>=2").is_some() && instead_of("markdown").is_none());
    }

    #[test]
    fn only_packages_of_an_index_are_asked_for() {
        for good in ["pypdf", "pypdf>=6,<8", "a.b[c]~=1.2; python_version < '3.12'"] {
            plain(good).unwrap();
        }
        for bad in
            ["", "-r x", "--index-url=x", "./x", "x/y", "x @ https://e.com/x.whl", "git+https://e.com/x", "x\n-e ."]
        {
            assert!(plain(bad).unwrap_err().to_string().contains("is not a package of an index"), "{bad}");
        }
    }
}
