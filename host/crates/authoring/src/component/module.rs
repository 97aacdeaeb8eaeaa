//! Languages that compile to plain modules: their bindings, and components made of these modules.

use crate::wit;
use anyhow::Context;
use std::fs;
use std::path::Path;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::{Files, WorldGenerator};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// The world of a plugin.
pub(crate) struct World {
    resolve: Resolve,
    world: WorldId,
}

impl World {
    /// Writes the WIT of what is exported into a folder, and reads it. Everything may be imported: what a module does not use, its
    /// component does not import.
    pub(crate) fn write(to: &Path, exports: &[String]) -> anyhow::Result<Self> {
        wit::write(to, &wit::world(exports, &wit::all_imports(&[wit::HTTP]), &[]), |text| text)?;
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(to)?;
        let world = resolve.select_world(&[package], Some(wit::WORLD))?;
        Ok(Self { resolve, world })
    }

    /// Writes bindings into a folder, which contains nothing else; `change` is applied to each text.
    pub(crate) fn bind(
        &mut self,
        mut generator: Box<dyn WorldGenerator>,
        to: &Path,
        change: impl Fn(&str) -> String,
    ) -> anyhow::Result<()> {
        if to.exists() {
            fs::remove_dir_all(to).with_context(|| format!("cannot empty {}", to.display()))?;
        }
        let mut files = Files::default();
        generator.generate(&mut self.resolve, self.world, &mut files)?;
        for (name, bytes) in files.iter() {
            let file = to.join(name);
            let changed = std::str::from_utf8(bytes).map_or_else(|_| bytes.to_vec(), |text| change(text).into_bytes());
            let written = fs::create_dir_all(file.parent().unwrap_or(to)).and_then(|()| fs::write(&file, changed));
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// Writes into a module which world it is for. A module in C has that from its linker already.
    pub(crate) fn mark(&self, module: &mut Vec<u8>) -> anyhow::Result<()> {
        embed_component_metadata(module, &self.resolve, self.world, StringEncoding::UTF8)
    }
}

/// Makes a component of a module that uses WASI's first preview.
pub(crate) fn component(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder
        .validate(true)
        .module(module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
        .context("the module does not fit its world")
}
