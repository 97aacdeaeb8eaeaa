//! Packages with compiled code: which of them work without it, and what to take in place of the others.

use super::pip::{pip, run};
use super::plain;
use crate::cli::build::command::quiet;
use anyhow::Context;
use std::fs;
use std::path::Path;
use std::process::Command;

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

/// Makes of a wheel one without what is compiled. It has the same bytes wherever it is made: for a version, all wheels have the same
/// modules, and nothing is compressed or dated.
const STRIP: &str = "
import base64, hashlib, sys, zipfile
source, folder = sys.argv[1:]
name, version = source.rsplit('/', 1)[-1].split('-')[:2]
record = f'{name}-{version}.dist-info/RECORD'
with zipfile.ZipFile(source) as file:
    contents = {one: file.read(one) for one in file.namelist() if not one.endswith(('.so', '.pyd', '.c', '.pyx', '/', 'RECORD'))}
info = next(one for one in contents if one.endswith('.dist-info/WHEEL'))
contents[info] = b'Wheel-Version: 1.0\\nGenerator: portcullis\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
record = info.replace('WHEEL', 'RECORD')
lines = [f'{one},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip(\"=\")},{len(data)}' for one, data in sorted(contents.items())]
contents[record] = '\\n'.join([*lines, f'{record},,', '']).encode()
with zipfile.ZipFile(f'{folder}/{name}-{version}-py3-none-any.whl', 'w') as file:
    for one, data in sorted(contents.items()):
        file.writestr(zipfile.ZipInfo(one), data)
";

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

/// Puts a pure wheel into `to`, made of one for this machine.
pub(super) fn strip(python: &Path, requirement: &str, to: &Path) -> anyhow::Result<()> {
    plain(requirement)?;
    let folder = to.join("compiled");
    super::empty(&folder)?;
    let mut download = pip(python, &folder, "download");
    download.args(["--only-binary", ":all:", "--no-deps", "--dest", ".", requirement]);
    run(&mut download).with_context(|| format!("cannot get {requirement}, to take its compiled code out"))?;
    for entry in fs::read_dir(&folder)? {
        let mut strip = Command::new(python);
        quiet(strip.args(["-c", STRIP]).arg(entry?.path()).arg(to), "")?;
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// The file name of a wheel for this machine, if there is one.
pub(super) fn wheel_of(python: &Path, requirement: &str, work: &Path) -> Option<String> {
    const NAME: &str =
        "import json, sys; print(json.load(sys.stdin)['install'][0]['download_info']['url'].rsplit('/', 1)[-1])";
    plain(requirement).ok()?;
    let report = work.join("report.json");
    let mut ask = pip(python, work, "install");
    ask.args(["--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:", requirement, "--report"]);
    run(ask.arg(&report)).ok()?;
    let mut read = Command::new(python);
    read.args(["-c", NAME]).stdin(fs::File::open(report).ok()?);
    let name = quiet(&mut read, "").ok()?.trim().to_owned();
    (!name.ends_with("-none-any.whl")).then_some(name)
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
}
