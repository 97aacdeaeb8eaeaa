//! Plugins in Python and in TypeScript around libraries.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::data::Library;
use super::language::write;
use crate::repo::Repo;
use crate::stamp::copy_if_changed;

const PYTHON: &str = "
LIBRARIES = {NAMES}


@tool
def use(library: str, server: str) -> str:
    \"\"\"Uses a library.\"\"\"
    return json.dumps(LIBRARIES[library](server))
";

pub(super) fn python(libraries: &[&Library], folder: &Path) -> Result<()> {
    let names: Vec<_> = libraries.iter().map(|one| one.name.as_str()).collect();
    let project = format!(
        "[project]\nname = \"libraries\"\nversion = \"0.1.0\"\ndescription = \"Uses libraries.\"\ndependencies = {}\n\n\
         [tool.portcullis.requests]\nhttp = [\"GET,POST http://localhost/\"]\n",
        Value::from(names.clone())
    );
    write(folder, "pyproject.toml", &project)?;
    let (mut text, mut table) = ("import json\n\nfrom portcullis_guest import tool\n".to_owned(), "{".to_owned());
    for (at, library) in libraries.iter().enumerate() {
        write!(text, "\n\ndef use_{at}(server):\n{}", indented(&library.code, "    ", "pass"))?;
        write!(table, "{:?}: use_{at}, ", library.name)?;
    }
    write(folder, "libraries.py", &(text + &PYTHON.replace("{NAMES}", &(table + "}"))))
}

const TYPESCRIPT: &str = "
tool({
  name: \"use\",
  description: \"Uses a library.\",
  input: { library: t.string(\"Which.\"), server: t.string(\"The address of a web server.\") },
  async run({ library, server }) {
    return JSON.stringify(await LIBRARIES[library]!(server));
  },
});
";
const FAILED: &str = "
const failed = async (work: () => unknown) => {
  try {
    await work();
    return \"nothing failed\";
  } catch (error: any) {
    return error.message;
  }
};
";

/// Beside the packages, which are installed above. The one of the tests looks at what `tests/languages/npm` does, too.
pub(super) fn javascript(repo: &Repo, libraries: &[&Library], looks: bool, folder: &Path) -> Result<()> {
    let npm = repo.root.join("tests/languages/npm");
    let project = json!({
        "name": "npm", "version": "0.1.0", "description": "Uses packages.", "private": true, "type": "module",
        "main": "libraries.ts", "portcullis": { "requests": { "http": ["GET,POST http://localhost/"] } },
    });
    write(folder, "package.json", &project.to_string())?;
    let mut text = "import { t, tool } from \"portcullis-guest\";\n".to_owned();
    if looks {
        copy_if_changed(&npm.join("plugin.ts"), &folder.join("plugin.ts")).context("the plugin of the tests")?;
        text += "import \"./plugin.ts\";\n";
    }
    let mut table = "\nconst LIBRARIES: Record<string, (server: string) => Promise<unknown>> = {\n".to_owned();
    for (at, library) in libraries.iter().enumerate() {
        let module = format!(
            "{}\n{FAILED}\nexport default async (server: string) => {{\n{}}};\n",
            library.imports.text().trim(),
            indented(&library.code, "  ", "")
        );
        write(folder, &format!("use_{at}.ts"), &module)?;
        writeln!(text, "import use_{at} from \"./use_{at}.ts\";")?;
        writeln!(table, "  {}: use_{at},", Value::from(library.name.as_str()))?;
    }
    write(folder, "libraries.ts", &(text + &table + "};\n" + TYPESCRIPT))
}

/// Code as the body of a function.
pub(super) fn indented(code: &str, by: &str, empty: &str) -> String {
    let code = if code.trim().is_empty() { empty } else { code };
    code.trim_matches('\n')
        .lines()
        .map(|line| if line.is_empty() { "\n".into() } else { format!("{by}{line}\n") })
        .collect()
}
