"""What a component finds in its image in place of files. Each test is a process of its own: the functions of `os` are replaced."""

import subprocess
import sys
from pathlib import Path

SDK = Path(__file__).parent.parent / "src"
# The package itself arranges the image, for the Python of componentize-py; these modules are for any.
BEGIN = """
import sys, types
package = types.ModuleType("portcullis_image")
package.__path__ = [sys.argv[1] + "/portcullis_image"]
sys.modules["portcullis_image"] = package
from portcullis_image import archive, files, imports, inner
"""


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-I", "-B", "-c", BEGIN + code, str(SDK), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def package(folder: Path) -> None:
    for name, text in {
        "words/__init__.py": "HELLO = 'hello'\n",
        "words/more.py": "def late():\n    from . import latest\n    return latest.NAME\n",
        "words/latest.py": "NAME = __name__\n",
        "words/data/list.txt": "één\ntwo\n",
        "words/tests/test_words.py": "raise Exception\n",
        "words/broken.py": "print 'python 2'\n",
        "words/fast.so": "compiled",
        "words-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: words\nVersion: 1.2\n",
        "spread/part/one.py": "ONE = 1\n",
    }.items():
        path = folder / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


PACKED = """
folder = sys.argv[2]
archive.write(folder + "/a.archive", archive.Part(folder + "/packages", "/3"))
archive.load(folder + "/a.archive")
import shutil; shutil.rmtree(folder + "/packages")
files.install()
imports.install([*sys.path, "/3"])
"""


def test_packages_are_imported_with_their_data_and_metadata(tmp_path):
    package(tmp_path)
    code = """
import importlib.metadata, importlib.resources, pkgutil, pathlib, os
import words, words.more
from spread.part import one
assert words.more.late() == "words.latest" and one.ONE == 1
assert words.__file__ == "/3/words/__init__.py"
assert importlib.metadata.version("words") == "1.2"
assert importlib.resources.files("words").joinpath("data/list.txt").read_text(encoding="utf-8").startswith("één")
assert pkgutil.get_data("words", "data/list.txt").endswith(b"two\\n")
path = os.path.join(os.path.dirname(words.__file__), "..", "words", "data", "list.txt")
with open(path, encoding="utf-8") as file:
    assert file.readlines() == ["één\\n", "two\\n"]
assert os.path.getsize(path) == 10 and os.path.isdir("/3/words/data/") and not os.path.exists("/3/words/no")
assert sorted(os.listdir("/3/words")) == ["__init__.py", "data", "latest.py", "more.py"], os.listdir("/3/words")
assert [one.name for one in pathlib.Path("/3").rglob("*.txt")] == ["list.txt"]
assert [one.name for one in pkgutil.iter_modules(words.__path__)] == ["latest", "more"]
for use, error in ((lambda: open("/3/words/more.py"), FileNotFoundError), (lambda: open(path, "w"), OSError), (lambda: open("/3/words"), OSError)):
    try:
        use()
    except error:
        continue
    raise AssertionError(error)
try:
    import words.tests
except ImportError:
    print("done")
"""
    assert run(PACKED + code, tmp_path) == "done\n"


def test_what_functions_import_is_imported_or_named(tmp_path):
    (tmp_path / "author.py").write_text(
        """import typing
if typing.TYPE_CHECKING:
    import never_there
def good():
    import colorsys
    if sys.platform == "win32":
        import winreg_of_windows
class A:
    def bad(self):
        from json import no_such_name
        import not_there.inside
"""
    )
    assert imported(tmp_path) == [
        "author.py:10: `json`: it has no `no_such_name`",
        "author.py:11: `not_there.inside`: No module named 'not_there'; packages are named under `dependencies` in pyproject.toml",
        "colorsys is loaded",
    ]


def test_what_a_function_goes_on_without_is_not_named(tmp_path):
    (tmp_path / "author.py").write_text(
        """import builtins, contextlib
from contextlib import suppress
HAS_FAST = False
def tried():
    try:
        import one
    except ImportError:
        import instead
    try:
        import one
    except (OSError, builtins.ModuleNotFoundError) as error:
        pass
    try:
        import one
    except ValueError:
        pass
    except:
        pass
    try:
        with open("x"):
            import one
    except* Exception:
        pass
    with suppress(ImportError):
        import one
    with open("x"), contextlib.suppress(OSError, Exception):
        import one
if HAS_FAST:
    def fast():
        import one
def chosen():
    if HAS_FAST:
        import one
    else:
        import other
"""
    )
    assert imported(tmp_path) == []


def test_an_import_that_no_handler_catches_is_named(tmp_path):
    (tmp_path / "author.py").write_text(
        """from contextlib import suppress, closing
def untried():
    try:
        import line_4
    except (ValueError, OSError):
        import line_6
    try:
        pass
    finally:
        import line_10
    with suppress(KeyError):
        import line_12
    with closing(ImportError):
        import line_14
    if True:
        import line_16
"""
    )
    assert [line.split(":")[1] for line in imported(tmp_path)] == ["4", "6", "10", "12", "14", "16"]


def imported(folder: Path) -> list[str]:
    """What is said of the imports in the functions of `author.py`."""
    code = """
sys.path.insert(0, sys.argv[2])
import author
try:
    inner.load(sys.argv[2])
except ImportError as error:
    print(error)
if "colorsys" in sys.modules:
    print("colorsys is loaded")
"""
    return [line for line in run(code, folder).splitlines() if not line.startswith("what functions import")]
