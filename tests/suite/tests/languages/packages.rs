//! Packages in a plugin in Python: chosen once, locked with their digests, checked ever after. The index is a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use suite::{Home, Ran, paths, portcullis};

const DEPENDENCY: &str = "version = \"0.1.0\"\ndependencies = [\"greetings>=1\"]";

/// Makes a wheel, as an index has it; pip reads the rest of its name.
fn wheel(index: &Path, file: &str, requires: &str, module: &str) {
    const MAKE: &str = "
import sys, zipfile
path, requires, module = sys.argv[1:]
name, version = path.rsplit('/', 1)[1].split('-')[:2]
info = f'{name}-{version}.dist-info'
with zipfile.ZipFile(path, 'w') as file:
    file.writestr(f'{name}.py', module)
    if '-none-any.' not in path:
        file.writestr(f'{name}_fast.so', 'compiled')
    file.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{requires}')
    file.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    file.writestr(f'{info}/RECORD', '')
";
    let mut python = Command::new(paths::python());
    python.args(["-c", MAKE]).arg(index.join(file)).args([requires, module]);
    suite::cli::run(python).good();
}

pub(super) struct Author {
    home: Home,
    folder: PathBuf,
    index: PathBuf,
}

impl Author {
    pub(super) fn new() -> Self {
        let home = Home::new();
        portcullis(&home, &["new", "hello", "--lang", "python"]).good();
        let (folder, index) = (home.path().join("hello"), home.path().join("index"));
        fs::create_dir(&index).unwrap();
        let author = Self { home, folder, index };
        author.change("pyproject.toml", "version = \"0.1.0\"", DEPENDENCY);
        author.change("hello.py", "return f\"Hello, {name}!\"", "return greetings.of(name)");
        author.change("hello.py", "from portcullis_guest", "import greetings\nfrom portcullis_guest");
        author
    }

    pub(super) fn change(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.folder.join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(self.folder.join(file), text.replacen(from, to, 1)).unwrap();
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.folder.join("requirements.lock")).unwrap()
    }

    pub(super) fn build(&self) -> Ran {
        let mut command = Command::new(paths::binary());
        command.args(["build", "hello"]).current_dir(self.home.path()).env("PORTCULLIS_CACHE", paths::cache());
        command.env("PORTCULLIS_STATE", self.home.path().join("state"));
        suite::cli::run(self.offline(command))
    }

    /// Files where the build is started, with the names of modules that the tools import: these take their own.
    fn shadow_modules(&self) {
        for module in ["componentize_py", "json", "pip", "zipfile"] {
            let text = "raise SystemExit('it is not the module of the library')\n";
            fs::write(self.home.path().join(format!("{module}.py")), text).unwrap();
        }
    }

    /// The folder is the only index.
    fn offline(&self, mut command: Command) -> Command {
        command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", &self.index);
        command
    }
}

#[test]
fn packages_are_locked_and_run_in_the_component() {
    let author = Author::new();
    // Imported during the call, and asked for what was installed.
    let greeting = "def of(name):\n    import words\n    from importlib.metadata import version\n    \
                    return f'{words.HELLO}, {name}!' + version('words')[2:]\n";
    wheel(&author.index, "greetings-1.0-py3-none-any.whl", "Requires-Dist: words\n", greeting);
    wheel(&author.index, "words-2.1-py2.py3-none-any.whl", "", "HELLO = 'Bonjour'\n");
    author.build().good();
    // Its tests find the packages, too.
    author.change("test_hello.py", "Hello, Ada!", "Bonjour, Ada!1");
    let mut pytest = Command::new(paths::python());
    pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(&author.folder);
    assert!(suite::cli::run(pytest).good().contains("1 passed"));
    let lock = author.lock();
    for line in ["# For: [\"greetings>=1\"]\n", "\ngreetings==1.0 --hash=sha256:", "# words-2.1-py2.py3-none-any.whl\n"]
    {
        assert!(lock.contains(line), "{lock}");
    }
    let called = portcullis(&author.home, &["call", "hello", "greet", "name=Ada", "--config", "hello/portcullis.toml"]);
    assert_eq!(called.good().trim(), "Bonjour, Ada!1");

    // What an earlier version of this program has packed goes when this one packs.
    let packed = author.folder.join(".portcullis/packages/.packed");
    let ours = fs::read_dir(&packed).unwrap().next().unwrap().unwrap().path();
    fs::rename(&ours, packed.join("earlier")).unwrap();
    author.build().good();
    assert!(ours.is_dir() && !packed.join("earlier").exists());

    // Newer versions change nothing, and without an index it builds as well, also where somebody has removed what was installed.
    fs::remove_dir_all(author.folder.join(".portcullis/packages")).unwrap();
    wheel(&author.index, "words-3.0-py3-none-any.whl", "", "HELLO = 'Hej'\n");
    fs::rename(&author.index, author.index.with_extension("away")).unwrap();
    author.build().good();
    assert_eq!(author.lock(), lock);
    fs::rename(author.index.with_extension("away"), &author.index).unwrap();

    // Another package is added: the others stay as they are.
    wheel(&author.index, "more-1.0-py3-none-any.whl", "", "");
    author.change("pyproject.toml", "\"greetings>=1\"", "\"greetings>=1\", \"more\"");
    author.build().good();
    let longer = author.lock();
    assert!(longer.contains("\nmore==1.0 ") && longer.contains("\nwords==2.1 "), "{longer}");

    // The same version with other bytes, on a machine that has not built it yet.
    fs::remove_dir_all(author.folder.join(".portcullis")).unwrap();
    wheel(&author.index, "words-2.1-py2.py3-none-any.whl", "", "HELLO = 'Gotcha'\n");
    let changed = author.build();
    assert!(changed.refused().contains("words==2.1"), "{changed:?}");
    assert!(changed.refused().contains("the packages of requirements.lock could not be downloaded"), "{changed:?}");
    author.change("pyproject.toml", ", \"more\"", "");
    let changed = author.build();
    assert!(changed.refused().contains("words 2.1 has the digest sha256:"), "{changed:?}");
    assert!(changed.refused().contains("it was changed after it was published"), "{changed:?}");
    assert_eq!(author.lock(), longer, "what was refused is not locked");
}

#[test]
fn what_is_not_pure_python_is_refused_by_name() {
    let author = Author::new();
    wheel(&author.index, "greetings-1.0-cp314-cp314-manylinux_2_28_x86_64.whl", "", "");
    let compiled = author.build();
    assert!(compiled.refused().contains("`greetings>=1` has no pure-Python wheel (py3-none-any)"), "{compiled:?}");
    // A package that needs one is named too, once for all versions that do.
    for version in ["1.0", "1.1", "1.2"] {
        let file = format!("greetings-{version}-py3-none-any.whl");
        wheel(&author.index, &file, "Requires-Dist: numpy>=2\n", "");
    }
    let needs = author.build();
    assert!(needs.refused().contains("`numpy>=2`, which greetings"), "{needs:?}");
    assert!(needs.refused().contains("Instead: `statistics`, `array`"), "{needs:?}");
    assert!(!author.folder.join("requirements.lock").exists());
}

/// The index has a wheel for this machine alone. Its compiled code is left out, and the lock file knows what remains.
#[test]
fn compiled_code_that_only_makes_a_package_faster_is_left_out() {
    let author = Author::new();
    wheel(
        &author.index,
        "greetings-1.0-py3-none-any.whl",
        "Requires-Dist: MarkupSafe>=2\n",
        "from markupsafe import of\n",
    );
    let tag = format!("cp3{0}-cp3{0}-linux_{1}", minor_version(), std::env::consts::ARCH);
    let compiled = format!("markupsafe-2.1-{tag}.whl");
    wheel(&author.index, &compiled, "", "def of(name): return f'Safe, {name}!'\n");
    author.shadow_modules();
    author.build().good();
    let files = fs::read_dir(author.folder.join(".portcullis/packages")).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        names.contains(&"markupsafe.py".to_owned()) && !names.iter().any(|name| name.ends_with(".so")),
        "{names:?}"
    );
    assert!(author.lock().contains("# markupsafe-2.1-py3-none-any.whl"), "{}", author.lock());
    let call = ["call", "hello", "greet", "name=Ada", "--config", "hello/portcullis.toml"];
    assert_eq!(portcullis(&author.home, &call).good().trim(), "Safe, Ada!");
    // It is made again where it is not there, with the same digest.
    fs::remove_dir_all(author.folder.join(".portcullis")).unwrap();
    author.build().good();
}

/// The minor version of the Python that builds.
fn minor_version() -> String {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; print(sys.version_info.minor, end='')"]);
    suite::cli::run(python).good().to_owned()
}

/// A source distribution runs its `setup.py` where it is built; here it would leave a file.
#[test]
fn nothing_of_a_package_runs_while_it_is_installed() {
    let author = Author::new();
    let (source, ran) = (author.home.path().join("evil-1.0"), author.home.path().join("ran"));
    fs::create_dir(&source).unwrap();
    let setup =
        format!("open({:?}, 'w').close()\nfrom setuptools import setup\nsetup(name='evil', version='1.0')\n", ran);
    fs::write(source.join("setup.py"), setup).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["-czf", "index/evil-1.0.tar.gz", "evil-1.0"]).current_dir(author.home.path());
    suite::cli::run(tar).good();
    let requires = format!("Requires-Dist: evil @ file://{}\n", author.index.join("evil-1.0.tar.gz").display());
    wheel(&author.index, "greetings-1.0-py3-none-any.whl", &requires, "");
    let named = author.build();
    assert!(named.refused().contains("runs nothing of a package"), "{named:?}");
    for (dependency, said) in [
        ("evil", "`evil` has no pure-Python wheel"),
        ("../evil-1.0", "is not a package of an index"),
        ("evil @ file:///evil-1.0.tar.gz", "is not a package of an index"),
        ("--editable=../evil-1.0", "is not a package of an index"),
    ] {
        let project = fs::read_to_string(author.folder.join("pyproject.toml")).unwrap();
        author.change("pyproject.toml", "greetings>=1", dependency);
        let refused = author.build();
        assert!(refused.refused().contains(said), "{dependency}: {refused:?}");
        fs::write(author.folder.join("pyproject.toml"), project).unwrap();
    }
    let lock = "# For: [\"greetings>=1\"]\n--index-url=https://example.com\n";
    fs::write(author.folder.join("requirements.lock"), lock).unwrap();
    let options = author.build();
    assert!(options.refused().contains("line 2 is none that `portcullis build` has written"), "{options:?}");
    assert!(!ran.exists(), "setup.py was run");
}
