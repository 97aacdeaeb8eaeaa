//! Bindings for guests whose languages compile to plain modules, and components made of these modules.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::Files;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId, WorldKey};

use crate::repo::Repo;
use crate::wit;

/// The languages, each with the name of what it generates.
pub(crate) enum Language<'a> {
    /// The prefix of types and files.
    C(&'a str),
    /// The packages of imports and of exports.
    Go(&'a str, &'a str),
}

/// The world that is bound, and the version of WASI's packages.
const BOUND: &str = "bound";
const WASI: &str = "0.2.12";

/// A world of a guest.
pub(crate) struct World {
    resolve: Resolve,
    world: WorldId,
}

impl World {
    /// The world of a guest, and `wasi:http`, whether it is named or not: what a guest does not use, its component does not
    /// import. The WIT is gathered in a folder.
    pub(crate) fn bound(repo: &Repo, world: &Path, name: &str, wasi: &Path, to: &Path) -> Result<Self> {
        wit::gather(repo, world, wasi, to, |text| text)?;
        let file = to.join("world.wit");
        let text = fs::read_to_string(&file)?;
        let more = format!("world {BOUND} {{ include {name}; import wasi:http/outgoing-handler@{WASI}; }}");
        fs::write(&file, format!("{text}\n{more}\n"))?;
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(to).with_context(|| format!("{} is not valid", world.display()))?;
        let world = resolve.select_world(&[package], Some(BOUND))?;
        Ok(Self { resolve, world })
    }

    /// Whether the world exports an interface of ours.
    pub(crate) fn exports(&self, name: &str) -> bool {
        self.resolve.worlds[self.world].exports.keys().any(|key| {
            let WorldKey::Interface(id) = key else { return false };
            self.resolve.interfaces[*id].name.as_deref() == Some(name)
        })
    }

    /// Writes the bindings into a folder.
    pub(crate) fn generate(&mut self, language: &Language<'_>, to: &Path) -> Result<()> {
        let mut generator = match *language {
            Language::C(prefix) => {
                wit_bindgen_c::Opts { rename_world: Some(prefix.to_owned()), ..Default::default() }.build()
            }
            Language::Go(imports, exports) => wit_bindgen_go::Opts {
                // Generated code that nobody reads needs no formatter.
                format: wit_bindgen_go::Format::False,
                pkg_name: Some(imports.to_owned()),
                export_pkg_name: Some(exports.to_owned()),
                ..Default::default()
            }
            .build(),
        };
        let mut files = Files::default();
        generator.generate(&mut self.resolve, self.world, &mut files)?;
        for (name, bytes) in files.iter() {
            let file = to.join(name);
            fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
            fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// Says in a module what world it is for. A module in C has learnt it from its linker.
    pub(crate) fn mark(&self, module: &mut Vec<u8>) -> Result<()> {
        embed_component_metadata(module, &self.resolve, self.world, StringEncoding::UTF8)
    }
}

/// Makes a component of a module that uses WASI's first preview. What it does not import, the component does not import
/// either.
pub(crate) fn component(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder
        .validate(true)
        .module(module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
        .context("the module does not fit its world")
}
