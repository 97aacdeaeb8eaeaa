"""The module `ctypes` of a component, which loads no libraries. Packages ask it for the sizes of types, too: these are what they are."""

import struct
from typing import Any


class _Type:
    _format_ = "P"

    def __init__(self, value: Any = 0) -> None:
        self.value = value


def _types() -> dict[str, type]:
    formats = {
        "bool": "?", "char": "c", "byte": "b", "ubyte": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "l", "ulong": "L",
        "longlong": "q", "ulonglong": "Q", "size_t": "N", "ssize_t": "n", "float": "f", "double": "d", "void_p": "P", "char_p": "P",
        "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    }  # fmt: skip
    return {f"c_{name}": type(f"c_{name}", (_Type,), {"_format_": letter}) for name, letter in formats.items()}


globals().update(_types())


def sizeof(one: Any) -> int:
    return struct.calcsize(one._format_)


class CDLL:
    def __init__(self, name: Any = None, *_: Any, **__: Any) -> None:
        raise OSError(f"a component loads no libraries in compiled code, such as {name}")


PyDLL = CDLL
