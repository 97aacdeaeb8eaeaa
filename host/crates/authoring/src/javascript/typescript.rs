//! Schemas of tools that are written as types of TypeScript. The compiler is installed for plugins that have such tools, and checks them.

use crate::command::{outcome, step};
use crate::environment::BuildEnvironment;
use crate::project::Project;
use crate::toolchain;
use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The module that tells the SDK the schemas of these tools; none if there are no such tools.
pub(crate) fn schemas(
    project: &Project,
    environment: &BuildEnvironment,
    sdk: &Path,
    main: &Path,
    tools: &[String],
) -> anyhow::Result<Option<PathBuf>> {
    if tools.is_empty() {
        return Ok(None);
    }
    let compiler = toolchain::typescript(environment)?.join("typescript/lib/typescript.js");
    let (work, made) = (project.work(), project.work().join("schemas.json"));
    step("checking the types", || {
        let mut node = Command::new("node");
        node.arg(sdk.with_file_name("schemas").join("main.js")).arg(compiler).arg(&project.folder).arg(main).arg(&made);
        match outcome(&mut node)? {
            (true, _) => Ok(()),
            (false, said) => bail!("the types of {} are not accepted:\n{said}", project.name),
        }
    })?;
    let text = fs::read_to_string(&made).with_context(|| format!("cannot read {}", made.display()))?;
    let found: Map<String, Value> = serde_json::from_str(&text).context("the schemas are not JSON")?;
    for name in tools {
        ensure!(
            found.contains_key(name),
            "no types are known of the tool `{name}`: typedTool is for modules in TypeScript; elsewhere call tool, and write `input` with t"
        );
    }
    let module = work.join("schemas.mjs");
    // As JSON text, since some names have a special meaning in an object literal.
    let learn = format!(
        "import {{ learn }} from {:?};\nlearn(JSON.parse({}));\n",
        sdk.join("typed.js"),
        Value::from(Value::from(found).to_string())
    );
    fs::write(&module, learn).with_context(|| format!("cannot write {}", module.display()))?;
    Ok(Some(module))
}
