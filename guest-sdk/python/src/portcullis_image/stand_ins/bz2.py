"""The module `bz2` of a component, where its library in C is not. Packages that import it for a choice among formats can be imported;
whoever reads or writes this format is told."""

import io


def _refuse(*_: object, **__: object) -> None:
    raise OSError("bzip2 is not there in a component: its library is compiled code. zlib and gzip are")


class BZ2File(io.RawIOBase):
    """Made without an error, as one that reads what is no bzip2: `tarfile` tries one format after another."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def readable(self) -> bool:
        return True

    read = readinto = write = seek = _refuse  # type: ignore[assignment]

    def tell(self) -> int:
        return 0


class BZ2Compressor:
    __init__ = _refuse  # type: ignore[assignment]


class BZ2Decompressor:
    __init__ = _refuse  # type: ignore[assignment]


compress = decompress = open = _refuse
