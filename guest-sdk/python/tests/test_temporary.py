"""Files under `/tmp`, which are in memory where a component runs."""

from pathlib import Path

from test_image import run

IN_MEMORY = """
import errno, io, os, shutil, tempfile
folder = sys.argv[2]
# As where nothing is granted.
asked = []
def refuse(path, **_):
    asked.append(path)
    raise PermissionError(path)
files._stat = refuse
files.install()
temporary = files.temporary
# Where a component runs, files have no further attributes.
shutil._copyxattr = lambda *_, **__: None
# Real files of this test are under `/tmp`.
temporary.FOLDER = tempfile.tempdir = "/memory"
temporary.folders = {"/memory"}

def fails(expected, work):
    try:
        work()
    except OSError as error:
        assert error.errno == expected, error
    else:
        raise AssertionError("it succeeded")

def written(path, text="text"):
    with open(path, "w") as file:
        file.write(text)
    return path
"""


def test_temporary_files_are_in_memory(tmp_path):
    code = """
number = os.open("/memory/one", os.O_CREAT | os.O_EXCL | os.O_RDWR)
with io.open(number, "w+", encoding="utf-8") as file:
    file.write("één")
    file.seek(0)
    assert file.read() == "één" and file.mode == "w+"
with open("/memory/one", "ab") as file:
    file.write(b"!")
with open("/memory/one", "r+b") as file:
    file.seek(-1, io.SEEK_END)
    file.write(b"??")
    file.truncate(5)
with open("/memory/one", "br") as file:
    assert file.read() == "één".encode()
with open("/memory/one", "bw") as file:
    file.write(b"new")
assert open("/memory/one").read() == "new"
for mode in ("rw", "", "b", "wbt", "ww", "q"):
    try:
        open("/memory/one", mode)
    except ValueError:
        continue
    raise AssertionError(mode)
opened = lambda path, flags: os.open(path, flags, 0o600)
with open("/memory/private", "w", opener=opened) as file:
    file.write("kept")
assert open("/memory/private", opener=opened).read() == "kept"
fails(errno.EEXIST, lambda: open("/memory/one", "x"))
fails(errno.ENOENT, lambda: open("/memory/no/x", "w"))
fails(errno.ENOENT, lambda: open("/memory/no"))
fails(errno.EISDIR, lambda: open("/memory", "w"))
fails(errno.ENOTDIR, lambda: open("/memory/one/x", "w"))
assert os.access("/memory/one", os.W_OK) and not os.access("/memory/no", os.R_OK)
print(sorted(os.listdir("/memory")))
"""
    assert run(IN_MEMORY + code, tmp_path) == "['one', 'private']\n"
    assert not Path("/memory/one").exists()


def test_numbers_of_open_files_have_positions(tmp_path):
    code = """
number = os.open("/memory/one", os.O_CREAT | os.O_RDWR)
assert os.write(number, b"hello") == 5 and os.lseek(number, 1, os.SEEK_SET) == 1
os.write(number, memoryview(b"EL"))
assert os.read(number, 100) == b"lo" and os.read(number, 100) == b"" and os.lseek(number, 0, os.SEEK_CUR) == 5
assert os.lseek(number, -4, os.SEEK_END) == 1 and os.read(number, 2) == b"EL"
fails(errno.EINVAL, lambda: os.lseek(number, -1, os.SEEK_SET))
os.lseek(number, 7, os.SEEK_SET)
os.write(number, b"!")
assert open("/memory/one", "rb").read() == b"hELlo\\0\\0!"
os.ftruncate(number, 2)
os.fsync(number)
assert os.fstat(number).st_size == 2 and os.path.samestat(os.fstat(number), os.stat("/memory/one"))
end = os.open("/memory/one", os.O_WRONLY | os.O_APPEND)
os.lseek(end, 0, os.SEEK_SET)
os.write(end, b"END")
fails(errno.EBADF, lambda: os.read(end, 1))
reader = os.open("/memory/one", os.O_RDONLY)
fails(errno.EBADF, lambda: os.write(reader, b"x"))
# Two objects of one number share its position, and the second one leaves it open.
with open(reader, "rb", 0) as one:
    with open(reader, "rb", 0, closefd=False) as other:
        assert (one.read(1), other.read(1), one.fileno()) == (b"h", b"E", reader)
    assert one.read() == b"END"
# Who empties a file empties it for those that have it open.
open("/memory/one", "w").close()
assert os.fstat(number).st_size == 0
print("done")
"""
    assert run(IN_MEMORY + code, tmp_path) == "done\n"


def test_what_is_closed_and_removed_is_freed(tmp_path):
    code = """
import gc
for _ in range(3):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(1000))
        file.seek(0)
        assert os.listdir("/memory") == [] and len(file.read()) == 1000, "it has no name and is there"
    written("/memory/named")
    number = os.open("/memory/named", os.O_RDONLY)
    os.unlink("/memory/named")
    written("/memory/named", "another")
    assert os.read(number, 100) == b"text" and open("/memory/named").read() == "another"
    os.close(number)
    fails(errno.EBADF, lambda: os.close(number))
    fails(errno.EBADF, lambda: os.read(number, 1))
    os.unlink("/memory/named")
    gc.collect()
    assert not temporary._open and not temporary.files, (temporary._open, temporary.files)
one, other = [os.open("/memory/same", os.O_CREAT | os.O_RDWR) for _ in range(2)]
os.close(one)
assert os.open("/memory/same", os.O_RDWR) not in (one, other), "a number is given once"
os.write(other, b"kept")
print(open("/memory/same").read())
"""
    assert run(IN_MEMORY + code, tmp_path) == "kept\n"


def test_folders_are_made_in_folders_and_moved_with_what_is_in_them(tmp_path):
    code = """
fails(errno.ENOENT, lambda: os.mkdir("/memory/a/b"))
os.makedirs("/memory/a/b")
fails(errno.EEXIST, lambda: os.mkdir("/memory/a"))
written("/memory/a/b/file")
fails(errno.ENOTDIR, lambda: os.mkdir("/memory/a/b/file/c"))
fails(errno.ENOTDIR, lambda: os.listdir("/memory/a/b/file"))
fails(errno.EISDIR, lambda: os.unlink("/memory/a"))
fails(errno.ENOTEMPTY, lambda: os.rmdir("/memory/a"))
fails(errno.ENOENT, lambda: os.rename("/memory/no", "/memory/x"))
fails(errno.ENOENT, lambda: os.rename("/memory/a/b/file", "/memory/no/file"))
fails(errno.EISDIR, lambda: os.rename("/memory/a/b/file", "/memory/a"))
fails(errno.EINVAL, lambda: os.rename("/memory/a", "/memory/a/b/c"))
os.mkdir("/memory/full")
written("/memory/full/file", "full")
fails(errno.ENOTEMPTY, lambda: os.rename("/memory/a", "/memory/full"))
fails(errno.ENOTDIR, lambda: os.rename("/memory/a", "/memory/full/file"))
assert open("/memory/a/b/file").read() == "text", "what fails changes nothing"
os.rename("/memory/a", "/memory/full/c")
assert open("/memory/full/c/b/file").read() == "text" and not os.path.exists("/memory/a")
os.replace("/memory/full/c/b/file", os.fspath("/memory//full/./file"))
assert [one.path for one in os.scandir("/memory/full/c")] == ["/memory/full/c/b"] and open("/memory/full/file").read() == "text"
os.replace("/memory/full/file", "/memory/full/file")
assert os.listdir("/memory/full/c/b") == [] and os.path.getsize("/memory/full/file") == 4
with tempfile.TemporaryDirectory() as made:
    os.mkdir(made + "/in")
    written(made + "/in/file")
shutil.rmtree("/memory/full")
print(os.listdir("/memory"))
"""
    assert run(IN_MEMORY + code, tmp_path) == "[]\n"


def test_what_is_moved_out_of_memory_or_into_it_is_copied(tmp_path):
    code = """
import pathlib
out = folder + "/out"
fails(errno.EXDEV, lambda: os.rename(written("/memory/one"), out))
fails(errno.EXDEV, lambda: os.replace("/memory/one", pathlib.Path(out)))
assert open("/memory/one").read() == "text" and not os.path.exists(out)
shutil.move("/memory/one", out)
assert open(out).read() == "text" and not os.path.exists("/memory/one")
fails(errno.EXDEV, lambda: os.rename(out, "/memory/back"))
fails(errno.ENOENT, lambda: open("/memory/back"))
shutil.move(out, "/memory/back")
assert open("/memory/back").read() == "text" and not os.path.exists(out)
# Two files are two, also for those who compare their identity.
shutil.copyfile("/memory/back", written("/memory/other", "another"))
assert open("/memory/other").read() == "text" and not os.path.samefile("/memory/back", "/memory/other")
os.mkdir("/memory/in")
assert shutil.move("/memory/back", "/memory/in") == "/memory/in/back"
shutil.move("/memory/in", folder + "/in")
print(sorted(os.listdir("/memory")), os.listdir(folder + "/in"))
"""
    assert run(IN_MEMORY + code, tmp_path) == "['other'] ['back']\n"


def test_the_system_is_asked_once_for_a_granted_folder(tmp_path):
    code = """
assert not os.path.exists("/memory/x") and os.path.isdir("/memory") and os.listdir("/memory") == []
written("/memory/x")
print(asked)
files.forget_grants()
files._stat = lambda path: asked.append(path)
print(files._found("/memory/x"), files._found("/memory"), asked)
"""
    assert run(IN_MEMORY + code, tmp_path) == "['/memory']\nNone None ['/memory', '/memory']\n"
