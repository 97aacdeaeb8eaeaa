//! Puts the other version of `changing` in the place of the one that is there, as an operator who updates a plugin
//! would. Which tools there are then really changes.

use std::fs;

use changing::bindings::portcullis::plugin::types::ToolError;

changing::stamp!("portcullis:manifest", r#"{"name":"changer","version":"0.1.0","requests":{"filesystem":"write"}}"#);

changing::plugin!(
    "test_trigger_tool_change",
    "Changes the list of tools by replacing a plugin's component.",
    swap().map_or_else(|error| Err(ToolError::Failed(error.to_string())), changing::said)
);

fn swap() -> std::io::Result<String> {
    let version = |name: &str| fs::read(format!("/scratch/changing-{name}.wasm"));
    let next = if fs::read("/scratch/changing.wasm")? == version("first")? { "second" } else { "first" };
    // Renamed into place, so that nobody reads half a component.
    fs::write("/scratch/changing.next", version(next)?)?;
    fs::rename("/scratch/changing.next", "/scratch/changing.wasm")?;
    Ok(format!("the plugin offers its {next} tool now"))
}
