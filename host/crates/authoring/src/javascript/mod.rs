//! JavaScript and TypeScript: esbuild makes one module of the SDK and the author's code, and componentize-qjs a component of it
//! and QuickJS.

mod bundle;
mod node_built_ins;
mod typescript;
mod web_globals;

use crate::command::{quiet, step};
use crate::component::records_as_tuples;
use crate::component::single_module::{self, Linking};
use crate::environment::BuildEnvironment;
use crate::project::Project;
use crate::{toolchain, wit};
use anyhow::{Context, ensure};
use bundle::Bundler;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// In the synchronous ABI the engine runs no jobs of promises, so `async` functions become generators that use the SDK's own
/// promises.
const NOT_SUPPORTED: [&str; 3] = ["async-await", "async-generator", "for-await"];

/// The interface by which componentize-qjs loads modules while it builds. Its components keep the import, and a stub that
/// traps.
const LOADER: &str = "local:init/module-loader";

/// What `describe.js` says of a plugin.
#[derive(Deserialize)]
struct Described {
    /// The interfaces that its component exports.
    exports: Vec<String>,
    /// The tools whose schemas are made of types.
    typed: Vec<String>,
}

pub(crate) fn build(project: &Project, environment: &BuildEnvironment) -> anyhow::Result<Vec<u8>> {
    let tools = toolchain::node(environment)?;
    let (work, sdk) = (project.work(), project.work().join("javascript/src"));
    let main = project.folder.join(&project.main);
    let mut bundler = Bundler::new(&tools, &project.folder, &work, node_built_ins::aliases(&work, &sdk, &tools)?)?;
    // All imports lead to the same SDK, so that there is one list of what was offered.
    let with_sdk = format!("--alias:portcullis-guest={}", sdk.join("index.js").display());
    let globals = globals(&mut bundler, &main, &sdk)?;
    let ask = format!(
        "import {:?};\n{globals}import {main:?};\nimport {{ offers, typed }} from {:?};\nconsole.log(JSON.stringify({{ exports: offers(), typed }}));\n",
        sdk.join("engine.js"),
        sdk.join("describe.js")
    );
    let asking = bundler.bundle("describe", &ask, &["--conditions=module".to_owned(), with_sdk.clone()])?;
    let said = quiet(Command::new("node").arg(&asking.path).current_dir(&project.folder), toolchain::NODE)
        .with_context(|| format!("cannot load {}", main.display()))?;
    let Described { exports, typed } =
        serde_json::from_str(&said).context("the plugin must not print while it is loaded")?;
    ensure!(!exports.is_empty(), "{} offers nothing: call tool(), resource() or prompt()", main.display());
    let schemas = typescript::schemas(project, environment, &sdk, &main, &typed)?;
    let mut options = vec!["--external:portcullis:*".to_owned(), "--external:wasi:*".to_owned()];
    options.extend([conditions(project), with_sdk]);
    options.extend(NOT_SUPPORTED.map(|feature| format!("--supported:{feature}=false")));
    let bundled = bundler.bundle("plugin", &entry(&main, &sdk, &exports, schemas.as_deref(), &globals), &options)?;
    let imports: BTreeSet<&str> = bundled.contents.open_imports().collect();
    let imports: Vec<String> = imports.into_iter().map(ToOwned::to_owned).collect();
    let bundled = bundled.path;
    let (bound, built) = (work.join("wit"), work.join("built.wasm"));
    let is_strange = imports.iter().any(|name| name.starts_with("wasi:"));
    wit::write(&bound, &wit::world(&exports, &imports, &[]), |text| {
        let text = records_as_tuples::with_tuples(&text);
        if is_strange { strange(&text) } else { text }
    })?;
    if is_strange {
        let text = fs::read_to_string(&bundled)?;
        fs::write(&bundled, strange_imports(&text))?;
    }
    step("building the component", || {
        let mut build = Command::new("node");
        build.arg(tools.join("componentize-qjs/bin/componentize-qjs")).arg("--wit").arg(&bound);
        build.args(["--world", wit::WORLD, "--js"]).arg(&bundled);
        // --sync: the interfaces are sync-typed, and the host runs without the component model's async part.
        quiet(build.args(["--sync", "--output"]).arg(&built), toolchain::NODE)
    })?;
    let mut bytes = fs::read(&built).context("componentize-qjs wrote no component")?;
    if is_strange {
        familiar(&mut bytes);
    }
    fs::remove_file(built)?;
    let is_never_called =
        |interface: &str, function: &str| interface == LOADER || project.is_out_of_reach(interface, function);
    let linking = Linking { is_never_called: &is_never_called, ..Linking::WHOLE };
    single_module::link(&bytes, &linking).context("cannot link the modules of the component")
}

/// Makes `portcullis-guest` known to editors and tests, as npm would for `file:.portcullis/javascript`.
pub(crate) fn link(folder: &Path, sdk: &Path) -> anyhow::Result<()> {
    let link = folder.join("node_modules/portcullis-guest");
    if link.exists() {
        return Ok(());
    }
    let sdk = sdk.canonicalize()?;
    let made = fs::create_dir_all(folder.join("node_modules")).and_then(|()| {
        // A folder that was moved has left a link that leads nowhere.
        let _ = fs::remove_file(&link);
        symlink(sdk, &link)
    });
    made.with_context(|| format!("cannot make {}", link.display()))
}

/// The conditions by which modules are found: those of bundlers, and those of the manifest's requests (`imports` in the SDK's
/// package.json).
fn conditions(project: &Project) -> String {
    let mut conditions = String::from("--conditions=module,component");
    let wanted =
        [(project.wants_http(), "http"), (project.wants_files(), "files"), (project.wants_variables(), "variables")];
    for (_, name) in wanted.into_iter().filter(|(wanted, _)| *wanted) {
        conditions += &format!(",wants-{name}");
    }
    conditions
}

/// The imports that define the global names which the plugin and its packages mention. Also finds imports of packages that are
/// not installed.
fn globals(bundler: &mut Bundler, main: &Path, sdk: &Path) -> anyhow::Result<String> {
    let options =
        ["--conditions=module", "--external:portcullis-guest", "--minify-whitespace", "--legal-comments=none"];
    let own = bundler.bundle("own", &format!("import {main:?};\n"), &options.map(ToOwned::to_owned))?;
    node_built_ins::check(&own.contents)?;
    bundler.leave_out(&own.contents)?;
    let code = fs::read_to_string(&own.path).context("esbuild has written no module")?;
    let modules = web_globals::needed(&code).into_iter();
    Ok(modules.map(|module| format!("import {:?};\n", sdk.join(format!("globals/{module}.js")))).collect())
}

/// The text of the component's first module.
fn entry(main: &Path, sdk: &Path, exports: &[String], schemas: Option<&Path>, globals: &str) -> String {
    let mut text = format!("import {:?};\n{globals}", sdk.join("shim.js"));
    // Before the plugin, whose tools need them.
    text += &schemas.map(|schemas| format!("import {schemas:?};\n")).unwrap_or_default();
    text += &format!("import {main:?};\nimport {:?};\n", sdk.join("loaded.js"));
    text + &format!("export {{ {} }} from {:?};\n", exports.join(", "), sdk.join("exports.js"))
}

/// A namespace as long as `wasi:`, and a version that the embedded runtime does not use.
const STRANGE: &str = "wasx:";
const OLDER: &str = "0.2.8";
const STRANGE_IMPORTS: [&str; 7] = [
    "wasi:clocks/monotonic-clock@0.2.12",
    "wasi:random/random@0.2.12",
    "wasi:http/types@0.2.12",
    "wasi:http/outgoing-handler@0.2.12",
    "wasi:filesystem/types@0.2.12",
    "wasi:filesystem/preopens@0.2.12",
    "wasi:cli/environment@0.2.12",
];

/// componentize-qjs runs the component once while it builds it. It provides WASI's own streams and replaces interfaces that it does
/// not know, such as `wasi:http`, by traps; the two then disagree about the type of a stream, and the build fails. With a namespace
/// that it does not know, every interface is a trap, and the types agree. The version differs from that of the runtime's own
/// imports, since a component imports each name once.
fn strange(text: &str) -> String {
    text.replace("wasi:", STRANGE).replace(wit::VERSION, OLDER)
}

/// The same for the module's imports, and nothing else in it.
fn strange_imports(module: &str) -> String {
    STRANGE_IMPORTS.into_iter().fold(module.to_owned(), |text, name| {
        text.replace(&format!("from \"{name}\""), &format!("from \"{}\"", strange(name)))
    })
}

/// Restores the original names of interfaces, and leaves the plugin's own text as it is.
fn familiar(bytes: &mut [u8]) {
    for at in 0..bytes.len() {
        if begins_with_strange_name(&bytes[at..]) {
            bytes[at..at + STRANGE.len()].copy_from_slice(b"wasi:");
        }
    }
}

/// Whether this begins with a name such as `wasx:io/streams@0.2.8`.
fn begins_with_strange_name(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(STRANGE.as_bytes()) else { return false };
    let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-/".contains(&byte);
    let (name, version) = rest.split_at(rest.iter().take_while(|byte| is_of_name(**byte)).count());
    name.contains(&b'/') && version.strip_prefix(b"@").is_some_and(|version| version.starts_with(OLDER.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_strange_and_familiar_again() {
        let module = "import http from \"wasi:http/types@0.2.12\";\nconst version = \"0.2.12 of wasi:\";";
        let changed = strange_imports(module);
        assert_eq!(changed, module.replace("wasi:http/types@0.2.12", "wasx:http/types@0.2.8"));
        let mut bytes = strange("a wasi:io/streams@0.2.12\twasi:http/outgoing-handler@0.2.12").into_bytes();
        familiar(&mut bytes);
        assert_eq!(bytes, b"a wasi:io/streams@0.2.8\twasi:http/outgoing-handler@0.2.8");
    }

    #[test]
    fn text_of_the_plugin_stays_as_it_is() {
        for text in
            ["wasx:", "wasx:io", "a namespace wasx: of mine", "wasx:mine/a@1.0.0", "wasx:mine@0.2.8", "wasx:A/b@0.2.8"]
        {
            let mut bytes = text.as_bytes().to_vec();
            familiar(&mut bytes);
            assert_eq!(bytes, text.as_bytes());
        }
    }
}
