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

/// The languages, each with the name of what it generates.
pub(crate) enum Language<'a> {
    /// The prefix of types and files.
    C(&'a str),
    /// The packages of imports and of exports.
    Go(&'a str, &'a str),
}

/// A world of a folder of WIT.
pub(crate) struct World {
    resolve: Resolve,
    world: WorldId,
}

impl World {
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self> {
        let mut resolve = Resolve::default();
        let (package, _) =
            resolve.push_dir(folder).with_context(|| format!("the WIT in {} is not valid", folder.display()))?;
        let world = resolve
            .select_world(&[package], Some(name))
            .with_context(|| format!("{} has no world `{name}`", folder.join("world.wit").display()))?;
        Ok(Self { resolve, world })
    }

    /// Whether the world exports the interface of this package of ours.
    pub(crate) fn exports(&self, name: &str) -> bool {
        self.resolve.worlds[self.world].exports.keys().any(|key| self.is(key, "portcullis", name))
    }

    /// Whether the world imports this interface of WASI.
    pub(crate) fn imports(&self, name: &str) -> bool {
        self.resolve.worlds[self.world].imports.keys().any(|key| self.is(key, "wasi", name))
    }

    fn is(&self, key: &WorldKey, namespace: &str, name: &str) -> bool {
        let WorldKey::Interface(id) = key else { return false };
        let interface = &self.resolve.interfaces[*id];
        let package = interface.package.map(|package| &self.resolve.packages[package].name);
        interface.name.as_deref() == Some(name) && package.is_some_and(|package| package.namespace == namespace)
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
