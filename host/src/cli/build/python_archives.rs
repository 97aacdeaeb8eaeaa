//! What a plugin in Python can import during a call: the standard library, and the packages that it depends on. Each is compiled and packed
//! once, by the Python that runs it; a build takes the archives into the image.

use super::command::step;
use super::componentize::{ENTRY, componentize};
use super::embedded;
use super::packages::Packages;
use super::toolchain::{PythonTools, once};
use super::wit;
use anyhow::Context;
use plugins::package::Digest;
use std::fs;
use std::path::{Path, PathBuf};

/// The standard library, the zones of time and the SDK, packed in the user's cache.
pub(super) fn standard(tools: &PythonTools) -> anyhow::Result<PathBuf> {
    let name = format!("{}-library-{}", tools.name(), &version_of_the_sdk()[..16]);
    let folder = once(&name, "the standard library of Python", |folder| {
        let write = "from portcullis_image import standard\nstandard.write(\"/0/standard.archive\", \"/1\", \"/2\")\n";
        // All plugins get this archive, so nothing in it may come from the folder of one.
        let sdk = folder.join("sdk");
        embedded::unpack("python", &sdk)?;
        pack(&tools.interpreter(), folder, write, &[sdk, tools.zones()?])
    })?;
    Ok(folder.join("standard.archive"))
}

/// The packages of a plugin, packed beside them.
pub(super) fn of_packages(packages: &Packages, python: &Path, sdk: &Path, standard: &Path) -> anyhow::Result<PathBuf> {
    let library = standard.parent().and_then(Path::file_name).unwrap_or_default();
    let folder = packages.packed(library);
    let archive = folder.join("packages.archive");
    if !archive.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = "from portcullis_image import archive\n\
                     archive.write(\"/0/packages.part\", archive.Part(\"/2\", \"/3\"))\n";
        step("compiling the packages", || {
            pack(python, &folder, write, &[sdk.to_owned(), packages.folder.clone()])?;
            // Under its name when it is whole.
            fs::rename(folder.join("packages.part"), &archive).context("the packages were not packed")
        })?;
    }
    Ok(archive)
}

/// Runs Python with these folders as `/1`, `/2` and so on; it writes into `folder`, which is `/0`. The component is of no use.
fn pack(python: &Path, folder: &Path, text: &str, others: &[PathBuf]) -> anyhow::Result<()> {
    let (bound, unused) = (folder.join("wit"), folder.join("unused.wasm"));
    fs::create_dir_all(&bound)?;
    fs::write(bound.join("world.wit"), format!("package portcullis:build;\n\nworld {} {{}}\n", wit::WORLD))?;
    fs::write(folder.join(format!("{ENTRY}.py")), text)?;
    let path: Vec<PathBuf> = [folder.to_owned()].into_iter().chain(others.iter().cloned()).collect();
    componentize(python, &bound, &path, &unused)?;
    fs::remove_file(unused)?;
    Ok(())
}

/// A digest of all its files.
fn version_of_the_sdk() -> String {
    let all: Vec<u8> = embedded::below("python").flat_map(|(name, bytes)| [name.as_bytes(), bytes].concat()).collect();
    Digest::sha256(&all).to_string().trim_start_matches("sha256:").to_owned()
}
