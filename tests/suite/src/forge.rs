//! Plugins written by hand in the text format: what no compiler would make.

use crate::paths;
use std::fs;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// The behaviour of that name in `tests/guests/wat`, as a component.
pub fn behaviour(name: &str) -> Vec<u8> {
    let path = paths::root().join("tests/guests/wat").join(format!("{name}.wat"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    plugin(&text)
}

/// A plugin whose tool runs the function `$run` of this text.
pub fn plugin(behaviour: &str) -> Vec<u8> {
    let mut wit = Resolve::default();
    let (package, _) = wit.push_dir(paths::root().join("wit/v0.1")).unwrap_or_else(|error| panic!("{error:#}"));
    let world = wit.select_world(&[package], Some("plugin")).unwrap_or_else(|error| panic!("{error:#}"));
    encode(&framed(behaviour), &wit, world)
}

/// The module of such a plugin, as text.
pub fn framed(behaviour: &str) -> String {
    let path = paths::root().join("tests/guests/wat/frame.wat");
    let frame = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A behaviour about memory brings its own.
    let own_memory = behaviour.contains("(memory (export \"memory\")");
    let frame = if own_memory { frame.replace("(memory (export \"memory\") 2)", "") } else { frame };
    frame.replace(";; BEHAVIOUR", behaviour)
}

/// A component of this module for this world.
pub fn encode(module: &str, wit: &Resolve, world: WorldId) -> Vec<u8> {
    let mut module = wat::parse_str(module).unwrap_or_else(|error| panic!("{error}"));
    embed_component_metadata(&mut module, wit, world, StringEncoding::UTF8).unwrap_or_else(|error| panic!("{error:#}"));
    let mut encoder = ComponentEncoder::default();
    let component = encoder.module(&module).and_then(|encoder| encoder.encode());
    component.unwrap_or_else(|error| panic!("{error:#}"))
}
