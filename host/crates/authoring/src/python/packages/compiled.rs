//! Wheels with compiled code: removes it from those that work without it, and names the others.

use super::pip::{pip, run};
use super::requirement::plain;
use crate::command::{self, quiet};
use crate::folders::empty;
use anyhow::Context;
use std::fs;
use std::path::Path;

/// Makes a wheel without the compiled code of another one. It has the same bytes wherever it is made: all wheels of a version
/// have the same modules, and nothing is compressed or dated.
const STRIP: &str = "
import base64, hashlib, sys, zipfile
source, folder = sys.argv[1:]
name, version = source.rsplit('/', 1)[-1].split('-')[:2]
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

/// Makes a pure wheel from the one for this machine, and puts it into `to`.
pub(super) fn strip(python: &Path, requirement: &str, to: &Path) -> anyhow::Result<()> {
    plain(requirement)?;
    let folder = to.join("compiled");
    empty(&folder)?;
    let mut download = pip(python, &folder, "download");
    download.args(["--only-binary", ":all:", "--no-deps", "--dest", ".", requirement]);
    run(&mut download).with_context(|| format!("cannot get {requirement}, to take its compiled code out"))?;
    for entry in fs::read_dir(&folder)? {
        let mut strip = command::python(python);
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
    let mut read = command::python(python);
    read.args(["-c", NAME]).stdin(fs::File::open(report).ok()?);
    let name = quiet(&mut read, "").ok()?.trim().to_owned();
    (!name.ends_with("-none-any.whl")).then_some(name)
}
