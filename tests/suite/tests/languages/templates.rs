//! A plugin in each language from nothing: begun, tested, built, checked and called, as a person does. What a build needs is there
//! already, and no network is used.

use std::fs;
use std::path::Path;
use std::process::Command;
use suite::{Home, paths, portcullis};
use wit_component::DecodedWasm;
use wit_parser::WorldItem;

/// Makes the plugin `hello-<language>`, and returns its folder.
pub(super) fn begin(home: &Home, language: &str) -> std::path::PathBuf {
    let name = format!("hello-{language}");
    let made = portcullis(home, &["new", &name, "--lang", language]);
    assert!(made.good().contains("portcullis build"), "{made:?}");
    // Older versions of Node build plugins in TypeScript, but do not run their tests.
    assert_eq!(made.stdout.contains("needs Node 22.18 or newer"), language == "typescript", "{made:?}");
    let again = portcullis(home, &["new", &name, "--lang", language]);
    assert!(again.refused().contains("--folder"), "nothing is overwritten: {again:?}");
    home.path().join(name)
}

/// Runs `portcullis` in the plugin's folder.
pub(super) fn run(home: &Home, folder: &Path, arguments: &[&str], adjust: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(paths::binary());
    command.args(arguments).current_dir(folder).env("PORTCULLIS_CACHE", paths::cache());
    command.env("PORTCULLIS_STATE", home.path().join("state"));
    adjust(&mut command);
    suite::cli::run(command).good().to_owned()
}

fn build_check_and_call(home: &Home, folder: &Path, adjust: impl Fn(&mut Command)) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let file = format!("{name}.wasm");
    assert!(run(home, folder, &["build"], adjust).contains(&file));
    let shown = run(home, folder, &["check", &file], |_| {});
    for said in [&format!("{name} 0.1.0\nGreets people."), "Greets somebody by name.", "\"Whom to greet.\""] {
        assert!(shown.contains(said), "{shown}");
    }
    let called = run(home, folder, &["call", name, "greet", "name=Ada"], |_| {});
    assert_eq!(called.trim(), "Hello, Ada!");
}

#[test]
fn rust() {
    let home = Home::new();
    let folder = begin(&home, "rust");
    // Its dependencies in the versions that our plugins have, which are there.
    fs::copy(paths::root().join("plugins/Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    build_check_and_call(&home, &folder, |command| {
        command.env("CARGO_TARGET_DIR", paths::root().join("target/wasm")).env("CARGO_NET_OFFLINE", "true");
    });
}

#[test]
fn python() {
    let home = Home::new();
    let folder = begin(&home, "python");
    let mut pytest = Command::new(paths::python());
    pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(&folder);
    assert!(suite::cli::run(pytest).good().contains("1 passed"));
    build_check_and_call(&home, &folder, |command| {
        command.env("PIP_NO_INDEX", "1");
    });
}

#[test]
fn javascript() {
    let home = Home::new();
    let folder = begin(&home, "javascript");
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=tap"]).current_dir(&folder);
    assert!(suite::cli::run(node).good().contains("# pass 1\n"));
    build_check_and_call(&home, &folder, |command| {
        command.env("npm_config_offline", "true");
    });
    let component = folder.join("hello-javascript.wasm");
    let ours = || {
        let names = imports(&component).into_iter();
        names.filter_map(|name| name.strip_prefix("portcullis:plugin/").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(ours(), ["log"], "a component imports what its plugin uses");
    let plugin = folder.join("plugin.js");
    let stateful = fs::read_to_string(&plugin).unwrap().replace("import {", "import { state,");
    fs::write(&plugin, stateful.replace("run: (", "run: async (").replace("`Hello, ", "`${await state.keys()}Hello, "))
        .unwrap();
    run(&home, &folder, &["build"], |_| {});
    assert_eq!(ours(), ["log", "state"]);
}

/// The interfaces of which a component imports functions.
pub(super) fn imports(component: &Path) -> Vec<String> {
    let component = fs::read(component).unwrap();
    let DecodedWasm::Component(resolve, world) = wit_component::decode(&component).unwrap() else { panic!() };
    let functions = resolve.worlds[world].imports.iter().filter_map(|(key, item)| match item {
        WorldItem::Interface { id, .. } if !resolve.interfaces[*id].functions.is_empty() => {
            Some(resolve.name_world_key(key))
        }
        _ => None,
    });
    functions.map(|name| name.split('@').next().unwrap().to_owned()).collect()
}

/// Imports do not wait for promises, and the engine does not run their jobs; the build makes up for it.
#[test]
fn asynchronous_javascript_runs_to_its_end() {
    let home = Home::new();
    let folder = begin(&home, "javascript");
    fs::write(folder.join("plugin.js"), ASYNCHRONOUS).unwrap();
    run(&home, &folder, &["build"], |_| {});
    let call = |tool: &str| {
        let mut command = Command::new(paths::binary());
        command.args(["call", "hello-javascript", tool]).current_dir(&folder).env("PORTCULLIS_CACHE", paths::cache());
        suite::cli::run(command)
    };
    let all = call("all");
    assert!(all.good().ends_with("1 2 3, 4 5, caught late, microtask, 6, \u{e4}\u{20ac}\n"), "{all:?}");
    assert!(all.stdout.starts_with("chunk 1\nchunk 2\n"), "{all:?}");
    let stuck = call("stuck");
    assert_eq!(stuck.status, Some(1), "{stuck:?}");
    assert!((stuck.stdout + &stuck.stderr).contains("waits for a promise that nothing settles"));
}

const ASYNCHRONOUS: &str = r#"
import { emit, tool } from "portcullis-guest";

async function* numbers(most) {
  for (let at = 1; at <= most; at += 1) {
    yield at;
    await null;
  }
}

class Late {
  #value = 6;
  async value() {
    return Promise.resolve(this.#value);
  }
  static async fail() {
    await emit("chunk 1");
    throw new Error("late");
  }
}

tool({
  name: "all",
  description: "Uses all that is asynchronous.",
  async run() {
    const seen = [];
    for await (const number of numbers(3)) {
      seen.push(number);
    }
    const both = await Promise.all([4, (async () => 5)()]);
    const caught = await Late.fail().catch((error) => `caught ${error.message}`);
    let later;
    queueMicrotask(() => (later = "microtask"));
    await emit("chunk 2");
    await Promise.resolve();
    const text = new TextDecoder().decode(new TextEncoder().encode("ä€"));
    return [seen.join(" "), both.join(" "), caught, later, await new Late().value(), text].join(", ");
  },
});

tool({ name: "stuck", description: "Waits for ever.", run: () => new Promise(() => {}) });
"#;

/// Its test runs on Node 22.18 and newer; here, the compiler checks both files.
#[test]
fn typescript() {
    let home = Home::new();
    let folder = begin(&home, "typescript");
    let compile = || {
        let mut compiler = Command::new(paths::node_modules().join(".bin/tsc"));
        let types = paths::node_modules().join("@types");
        compiler.args(["--project", ".", "--types", "node", "--typeRoots"]).arg(types).current_dir(&folder);
        suite::cli::run(compiler)
    };
    compile().good();
    let wrong =
        fs::read_to_string(folder.join("plugin.ts")).unwrap().replace("Hello, ${name}!", "Hello, ${name.first}!");
    fs::write(folder.join("wrong.ts"), wrong).unwrap();
    let ran = compile();
    assert!(ran.stdout.contains("Property 'first' does not exist on type 'string'"), "arguments have types: {ran:?}");
    fs::remove_file(folder.join("wrong.ts")).unwrap();
    build_check_and_call(&home, &folder, |command| {
        command.env("npm_config_offline", "true");
    });
}

#[test]
fn c() {
    let home = Home::new();
    let folder = begin(&home, "c");
    let parts = ["data", "shared", "test"].map(|part| folder.join(".portcullis/c/src").join(part));
    let files = parts.iter().flat_map(|part| fs::read_dir(part).unwrap()).map(|file| file.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|end| end == "c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-I", ".portcullis/c/include"]);
    compiler.arg("test.c").args(sources).args(["-lm", "-o", "test"]);
    suite::cli::run({
        compiler.current_dir(&folder);
        compiler
    })
    .good();
    assert_eq!(suite::cli::run(Command::new(folder.join("test"))).good(), "the test passed\n");
    build_check_and_call(&home, &folder, |command| {
        command.env("PIP_NO_INDEX", "1");
    });
}

#[test]
fn go() {
    let home = Home::new();
    let folder = begin(&home, "go");
    let offline = |command: &mut Command| {
        command.env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    };
    let mut test = Command::new("go");
    offline(test.arg("test").current_dir(&folder));
    assert!(suite::cli::run(test).good().contains("ok  \thello-go\t"));
    build_check_and_call(&home, &folder, offline);
    assert!(folder.join(".portcullis/runtime.json").exists(), "the runtime of this Go is not known, and starts slowly");
}

/// What the page about servers in Python ends with, as it stands there.
#[test]
fn a_server_in_python_becomes_a_plugin() {
    let home = Home::new();
    portcullis(&home, &["new", "places", "--lang", "python"]).good();
    let folder = home.path().join("places");
    let page = fs::read_to_string(paths::root().join("host/docs/from-python-mcp.md")).unwrap();
    let (_, example) = page.split_once("```python\n").unwrap();
    fs::write(folder.join("places.py"), example.split_once("```").unwrap().0).unwrap();
    let project = fs::read_to_string(folder.join("pyproject.toml")).unwrap();
    let requests = "[tool.portcullis.requests]\nclient = { sample = true }\nstate = true\n";
    fs::write(folder.join("pyproject.toml"), project + requests).unwrap();
    run(&home, &folder, &["build"], |_| {});
    let transcript = "[grants]\nclient = { sample = {} }\nstate = {}\n\
                      [[call]]\ntool = \"describe\"\narguments = { place = \"Oslo\" }\nanswers = [{ model = \"By a fjord.\" }]\n\
                      [call.expect]\nstructured = { place = \"Oslo\", text = \"By a fjord.\" }\n\
                      asked = [\"Describe Oslo in 20 words.\"]\n\
                      [[call]]\ntool = \"describe\"\narguments = { place = \"Oslo\" }\n\
                      [call.expect]\nstructured = { place = \"Oslo\", text = \"By a fjord.\" }\nasked = []\n";
    fs::write(folder.join("places.toml"), transcript).unwrap();
    let tested = run(&home, &folder, &["test", "places.wasm", "places.toml"], |_| {});
    assert!(tested.starts_with("ok "), "{tested}");
}

/// The first example of each README, as it stands there.
#[test]
fn examples_in_c_and_go_work() {
    let home = Home::new();
    for language in ["c", "go"] {
        let folder = begin(&home, language);
        let readme = fs::read_to_string(paths::root().join(format!("guest-sdk/{language}/README.md"))).unwrap();
        let (_, example) = readme.split_once(&format!("```{language}\n")).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        fs::write(folder.join(format!("plugin.{language}")), example).unwrap();
        run(&home, &folder, &["build"], |_| {});
        let called = run(&home, &folder, &["call", &format!("hello-{language}"), "forecast", "place=Oslo"], |_| {});
        let lines: Vec<_> = called.trim().lines().collect();
        assert_eq!(lines[..3], ["day 1: 21 degrees", "day 2: 22 degrees", "day 3: 23 degrees"], "{language}");
        assert_eq!(lines[3], r#"{"place":"Oslo","highs":[21,22,23]}"#, "{language}: {called}");
    }
}

#[test]
fn mistakes_in_c_and_go_are_said_before_there_is_a_component() {
    let home = Home::new();
    for (language, file, text, said) in [
        ("c", "plugin.c", "#include <portcullis.h>\n", "offers nothing: write PC_TOOLS(...)"),
        (
            "c",
            "plugin.c",
            "#include <portcullis.h>\nPC_TOOLS({.nam = \"a\"});\n",
            "field designator 'nam' does not refer",
        ),
        ("c", "manifest.json", "{\"name\": \"hello-c\"}", "manifest.json is not a manifest"),
        ("go", "plugin.go", "package main\n\nfunc main() {}\n", "offers nothing: call portcullis.Tool"),
        ("go", "plugin.go", "package main\n\nfunc main() { x }\n", "undefined: x"),
        (
            "go",
            "plugin.go",
            "package main\n\nimport (\n\t\"context\"\n\t\"portcullis\"\n)\n\nfunc main() {}\n\nfunc init() {\n\tportcullis.Tool(\"a\", \"A.\", \
             func(context.Context, struct{ C chan int }) (string, error) { return \"\", nil })\n}\n",
            "chan int has no schema",
        ),
    ] {
        let folder = begin(&home, language);
        fs::write(folder.join(file), text).unwrap();
        let ran = portcullis(&home, &["build", &format!("hello-{language}")]);
        assert!(ran.refused().contains(said), "{ran:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// In the folder of a stranger they would lead to files of whoever builds it.
#[test]
fn links_in_a_plugins_folder_lead_a_build_to_no_other_files() {
    let home = Home::new();
    let (folder, documents) = (begin(&home, "c"), home.path().join("documents"));
    fs::create_dir(&documents).unwrap();
    fs::write(documents.join("thesis"), "mine").unwrap();
    let made = folder.join(".portcullis/c");
    fs::remove_dir_all(&made).unwrap();
    std::os::unix::fs::symlink("../../documents", &made).unwrap();
    let ran = portcullis(&home, &["build", "hello-c"]);
    assert!(ran.refused().contains(".portcullis/c is a link to ../../documents"), "{ran:?}");
    let left: Vec<_> = fs::read_dir(&documents).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["thesis"], "nothing is removed, and nothing is put there");
}

#[test]
fn mistakes_are_said_with_what_to_do() {
    let home = Home::new();
    let none = portcullis(&home, &["build"]);
    assert!(none.refused().contains("portcullis new NAME"), "{none:?}");
    let name = portcullis(&home, &["new", "A_b", "--lang", "rust"]);
    assert!(name.refused().contains("write up to 64 of a-z"), "{name:?}");
    let folder = begin(&home, "javascript");
    let file = folder.join("package.json");
    let text = fs::read_to_string(&file).unwrap();
    for (from, to, said) in [
        ("\"requests\": {}", "\"requests\": {\"network\": true}", "unknown field `network`"),
        ("\"requests\": {}", "\"request\": {}", "known are main, requests"),
        ("\"plugin.js\"", "\"other.js\"", "other.js, which is not there"),
        ("\"version\": \"0.1.0\",", "", "has no version"),
    ] {
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let ran = portcullis(&home, &["build", "hello-javascript"]);
        assert!(ran.refused().contains(said), "{ran:?}");
    }
    fs::write(&file, &text).unwrap();
    for (module, said) in [
        ("import { t } from \"portcullis-guest\"; t.string();", "offers nothing"),
        ("import { tool } from \"portcullis-guest\"; tool({ name: \"a\" });", "`a` needs a description"),
        ("import \"left-pad\";", "Could not resolve \"left-pad\""),
    ] {
        fs::write(folder.join("plugin.js"), module).unwrap();
        let ran = portcullis(&home, &["build", "hello-javascript"]);
        assert!(ran.refused().contains(said), "{ran:?}");
    }
}
