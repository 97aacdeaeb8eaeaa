"""Imports modules from the archive: Python asks this finder for each folder of `sys.path` and of packages that the archive has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourcelessFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType

from . import archive


class Finder:
    """Finds the modules in a folder."""

    def __init__(self, folder: str) -> None:
        if folder not in archive.folders:
            raise ImportError(f"{folder} is not in the archive", path=folder)
        self.folder = folder

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        path = f"{self.folder}/{name.rpartition('.')[2]}"
        if (package := f"{path}/__init__.py") in archive.files:
            return spec_from_file_location(name, package, loader=Loader(name, package), submodule_search_locations=[path])
        if (module := f"{path}.py") in archive.files:
            return spec_from_file_location(name, module, loader=Loader(name, module))
        if path not in archive.folders:
            return None
        # A part of a package without a module of its own.
        spec = ModuleSpec(name, None)
        spec.submodule_search_locations = [path]
        return spec

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """For `pkgutil`."""
        for name in sorted(archive.folders[self.folder]):
            if f"{self.folder}/{name}/__init__.py" in archive.files:
                yield prefix + name, True
            elif name.endswith(".py") and name != "__init__.py":
                yield prefix + name.removesuffix(".py"), False

    def invalidate_caches(self) -> None:
        pass


class Loader(SourcelessFileLoader):
    """Reads modules as bytecode, and the data of packages as it is."""

    def get_data(self, path: str) -> bytes:
        try:
            return archive.read(path)
        except KeyError:
            raise FileNotFoundError(f"{path} is not in the component") from None


def install(path: list[str]) -> None:
    """From now on, modules of these folders are imported from the archive."""
    sys.path[:] = path
    sys.path_hooks.insert(0, Finder)
    # What Python remembers here are finders that look at files.
    sys.path_importer_cache.clear()
