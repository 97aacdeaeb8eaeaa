//! The migration of a small code base, on the fake host.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use portcullis_guest::ToolError;
use portcullis_guest::client::Answer;
use portcullis_guest::testing::Host;
use serde_json::{Value, json};

use crate::migrate::PLUGIN;
use crate::tokens::specifiers;

const MAIN: &str = r#"// from "./comment"
import { gate } from "./gate";
import type { Moat } from './moat'
import "./gate.js";
export * from "../src/moat/";
import {
    chain,
} from "chains/strong";
const fs = require("node:fs"), { open: lift } = require("./gate");
const { close: drop } = require("@castle/gates/close");
const text = `import "./gate" ${gate}`, found = /from "/.test("./gate"), own = loader.require("./gate");
const late = await import("./moat");
"#;

const MIGRATED: &str = r#"// from "./comment"
import { gate } from "./gate.js";
import type { Moat } from './moat/index.js'
import "./gate.js";
export * from "../src/moat/index.js";
import {
    chain,
} from "chains/strong";
const fs = require("node:fs"), { open: lift } = require("./gate.js");
import { close as drop } from "@castle/gates/close";
const text = `import "./gate" ${gate}`, found = /from "/.test("./gate"), own = loader.require("./gate");
const late = await import("./moat/index.js");
"#;

fn code() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join("code").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("package.json", r#"{"dependencies": {"chains": "1"}}"#);
    put("src/main.ts", MAIN);
    put("src/gate.tsx", "export const gate = 1;\n");
    put("src/moat/index.ts", "export * from '../..';\n");
    put("index.js", "");
    put("node_modules/x/index.js", "import './y'");
    put("notes.md", "import './y'");
    folder
}

fn migrate(host: &Host, folder: &Path, commonjs: &str) -> Result<Value, ToolError> {
    let arguments = json!({"path": folder.join("code"), "into": folder.join("new"), "commonjs": commonjs});
    let result = host.call(&PLUGIN, "migrate", arguments)?;
    Ok(serde_json::from_str(&result.structured.unwrap()).unwrap())
}

#[test]
fn relative_imports_get_whole_names_and_require_becomes_import() {
    let folder = code();
    let host = Host::new().folder(folder.path()).form(Answer::Accepted(json!({})));
    let summary = migrate(&host, folder.path(), "ask").unwrap();
    let expected = json!({
        "files": 4, "files_changed": 2, "lines_changed": 7, "imports_rewritten": 6, "requires_rewritten": 1,
        "undeclared": ["@castle/gates"],
    });
    assert_eq!(summary, expected);
    assert_eq!(fs::read_to_string(folder.path().join("new/src/main.ts")).unwrap(), MIGRATED);
    assert!(!folder.path().join("new/src/gate.tsx").exists(), "it is right as it is");
    assert_eq!(host.asked()[0].message(), "Turn 3 calls of require into imports?");
    assert_eq!(host.progress().iter().map(|report| report.done).collect::<Vec<_>>(), [10.0, 25.0, 50.0, 100.0]);
}

#[test]
fn without_a_yes_require_stays() {
    for (commonjs, answer) in [("ask", Answer::Declined), ("ask", Answer::Cancelled), ("keep", Answer::Declined)] {
        let folder = code();
        let host = Host::new().folder(folder.path()).form(answer);
        let summary = migrate(&host, folder.path(), commonjs).unwrap();
        assert_eq!((&summary["requires_rewritten"], &summary["imports_rewritten"]), (&json!(0), &json!(6)));
        assert_eq!(host.asked().len(), usize::from(commonjs == "ask"));
    }
}

#[test]
fn nothing_is_written_before_the_answer() {
    let folder = code();
    let host = Host::new().folder(folder.path());
    assert_eq!(migrate(&host, folder.path(), "ask"), Err(ToolError::Unsupported("elicitation.form".into())));
    assert!(!folder.path().join("new").exists());
}

#[test]
fn texts_that_end_too_soon_are_read_to_their_end() {
    for text in ["'", "\"\\", "/*", "/", "`a", "import '", "import \"x", "require('", "é'é"] {
        assert_eq!(specifiers(text).len(), 0, "{text}");
    }
}
