//! Node's own modules in a plugin in JavaScript: those that make sense in the sandbox are replaced by a package or a module of
//! the SDK. The others are refused where an author imports them. Packages often import them but do without: they get a module
//! that reports what is missing when it is used.

use super::bundle::{Contents, is_of_package};
use crate::command::note;
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;

/// Modules, and the packages that replace them, in the folder of tools.
const PACKAGES: [(&str, &str); 9] = [
    ("buffer", "buffer"),
    ("events", "events"),
    ("path", "path-browserify"),
    ("path/posix", "path-browserify"),
    ("stream", "readable-stream"),
    ("stream/promises", "readable-stream/lib/stream/promises.js"),
    ("string_decoder", "string_decoder"),
    ("sys", "util"),
    ("util", "util"),
];

/// Modules, and those of the SDK that replace them.
const OURS: [(&str, &str); 8] = [
    ("assert", "assert.js"),
    ("assert/strict", "assert.js"),
    ("crypto", "crypto.js"),
    ("perf_hooks", "perf-hooks.js"),
    // A folder, since packages import it as `process/`, too.
    ("process", "process"),
    ("timers", "timers.js"),
    ("timers/promises", "timers-promises.js"),
    ("url", "url.js"),
];

const FETCH: &str = "send requests with `fetch`";
const FILES: &str = "use `files` of portcullis-guest for the folders that were granted";
const ALONE: &str = "a plugin runs alone, without programs and threads beside it";
const ABSENT: [(&str, &str); 37] = [
    ("async_hooks", "pass on what a call needs as arguments"),
    ("child_process", ALONE),
    ("cluster", ALONE),
    ("console", "use the global `console`"),
    ("constants", FILES),
    ("dgram", FETCH),
    ("diagnostics_channel", "use `log` of portcullis-guest"),
    ("dns", FETCH),
    ("dns/promises", FETCH),
    ("domain", "catch errors with try and catch"),
    ("fs", FILES),
    ("fs/promises", FILES),
    ("http", FETCH),
    ("http2", FETCH),
    ("https", FETCH),
    ("inspector", "use `log` of portcullis-guest"),
    ("module", "import modules with `import`"),
    ("net", FETCH),
    ("os", "a plugin sees nothing of the machine"),
    ("path/win32", "paths have slashes; use `path`"),
    ("punycode", "use the package punycode, imported as `punycode/`"),
    ("querystring", "use `URLSearchParams`"),
    ("readline", "ask with `ask` of portcullis-guest"),
    ("readline/promises", "ask with `ask` of portcullis-guest"),
    ("repl", "ask with `ask` of portcullis-guest"),
    ("sea", ALONE),
    ("sqlite", "use `state` of portcullis-guest"),
    ("stream/web", "read bodies as a whole"),
    ("test", "tests are beside the plugin, not in it"),
    ("tls", FETCH),
    ("trace_events", "use `log` of portcullis-guest"),
    ("tty", "a plugin has no terminal"),
    ("util/types", "use `util`"),
    ("v8", ALONE),
    ("vm", "there is no other engine in the sandbox"),
    ("worker_threads", ALONE),
    ("zlib", "use a package such as fflate"),
];

/// Writes a module in place of each absent one. Returns the options with which esbuild uses the replacements of all modules.
pub(crate) fn aliases(work: &Path, sdk: &Path, tools: &Path) -> anyhow::Result<Vec<String>> {
    let folder = work.join("absent");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, instead) in ABSENT {
        let path = folder.join(file(name));
        let module = sdk.join("node/absent.cjs");
        let text = format!("module.exports = require({module:?})({name:?}, {instead:?});\n");
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let packages = PACKAGES.into_iter().map(|(name, package)| (name, tools.join(package)));
    let ours = OURS.into_iter().map(|(name, module)| (name, sdk.join("node").join(module)));
    let absent = ABSENT.into_iter().map(|(name, _)| (name, folder.join(file(name))));
    let all = packages.chain(ours).chain(absent);
    Ok(all
        .flat_map(|(name, to)| ["", "node:"].map(|prefix| format!("--alias:{prefix}{name}={}", to.display())))
        .collect())
}

fn file(name: &str) -> String {
    format!("{}.cjs", name.replace('/', "-"))
}

/// Refuses a plugin that imports an absent module itself, and names the packages that do.
pub(crate) fn check(contents: &Contents) -> anyhow::Result<()> {
    for (from, import) in contents.imports() {
        let Some(name) = import.original.as_deref() else { continue };
        let bare = name.strip_prefix("node:").unwrap_or(name);
        let Some((_, instead)) = ABSENT.into_iter().find(|(absent, _)| *absent == bare) else { continue };
        if !import.path.ends_with(&format!("absent/{}", file(bare))) {
            continue;
        }
        if !is_of_package(from) {
            bail!("{from} imports `{name}` of Node, which is not in the sandbox: {instead}");
        }
        if contents.has(&import.path) {
            note(&format!("{from} imports `{name}` of Node, which is not in the sandbox; what it does with it fails"));
        }
    }
    Ok(())
}
