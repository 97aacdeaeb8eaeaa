"""Opens documents and reads them. Their authors may mean harm: a file of some hundred bytes can unpack to gigabytes or refer to itself.

pypdf bounds how much it unpacks and how deep it follows; the bounds here are tighter. What is left ends by the limits of the call."""

import base64
import binascii
import errno
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pypdf
from portcullis_guest import Denied, InvalidArguments, ToolError

# Imported when they are first used, which is too late in a component.
import pypdf._codecs.core_font_metrics  # noqa: F401
import pypdf._text_extraction  # noqa: F401
import pypdf.filters  # noqa: F401
import pypdf.generic._image_inline  # noqa: F401
import pypdf.xmp  # noqa: F401

# A whole file is in memory.
MOST_BYTES = 32 << 20
# What one stream may unpack to. A page of dense text has some hundred KiB.
MOST_UNPACKED = 16 << 20
MOST_METADATA = 50
MOST_VALUE = 2000

# pypdf warns of each oddity of a file; the log of the operator is not the place for them.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


@contextmanager
def opened(path: str | None, data: str | None) -> Iterator[pypdf.PdfReader]:
    """A document that can be read, while its errors are told in words."""
    if (path is None) == (data is None):
        raise InvalidArguments("give either path, a file in a granted folder, or data, the file in base64")
    name, raw = (f"`{path}`", _file(path)) if path is not None else ("data", _decoded(data or ""))
    if b"%PDF-" not in raw[:1024]:
        raise ToolError(f"{name} is not a PDF file: it does not begin with %PDF-")
    with _bounded():
        try:
            pdf = pypdf.PdfReader(io.BytesIO(raw), strict=False)
            count(pdf)
            yield pdf
        except ToolError:
            raise
        except (MemoryError, RecursionError) as error:
            raise ToolError(f"{name} cannot be read within the limits of a call: {type(error).__name__}") from None
        except pypdf.errors.FileNotDecryptedError:
            raise ToolError(f"{name} is encrypted with a password; save it without one") from None
        except pypdf.errors.DependencyError:
            raise ToolError(f"{name} is encrypted with AES, which this plugin does not have; save it without encryption") from None
        except Exception as error:
            raise ToolError(f"{name} is damaged: {error or type(error).__name__}") from None


def count(pdf: pypdf.PdfReader) -> int:
    return len(pdf.pages)


def text_of(pdf: pypdf.PdfReader, number: int) -> str:
    try:
        return pdf.pages[number - 1].extract_text()
    except (MemoryError, RecursionError, pypdf.errors.FileNotDecryptedError, pypdf.errors.DependencyError):
        raise
    except Exception as error:
        raise ToolError(f"page {number} is damaged: {error or type(error).__name__}; ask for the others by `pages`") from None


def sizes(pdf: pypdf.PdfReader, most: int) -> list[tuple[int, float, float]]:
    """The first page of each run of pages of one size."""
    found: list[tuple[int, float, float]] = []
    for number, page in enumerate(pdf.pages, 1):
        size = (round(float(page.mediabox.width), 1), round(float(page.mediabox.height), 1))
        if not found or found[-1][1:] != size:
            if len(found) == most:
                break
            found.append((number, *size))
    return found


def metadata(pdf: pypdf.PdfReader) -> dict[str, str]:
    said: dict[str, str] = {}
    for key, value in list((pdf.metadata or {}).items())[:MOST_METADATA]:
        said[str(key).lstrip("/")[:100]] = str(value)[:MOST_VALUE]
    return said


def _bounded():  # noqa: ANN202
    return pypdf.apply_configuration(
        maximum_declared_stream_length=MOST_BYTES,
        array_based_stream_maximum_output_length=MOST_UNPACKED,
        lzw_maximum_output_length=MOST_UNPACKED,
        run_length_maximum_output_length=MOST_UNPACKED,
        zlib_maximum_output_length=MOST_UNPACKED,
        stream_decoding_work_maximum_length=4 * MOST_UNPACKED,
        jbig2dec_binary=None,
        xform_maximum_invocations_per_extraction=500,
        page_tree_maximum_entries=20_000,
        outline_maximum_entries=5_000,
    )


def _file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ToolError(f"`{path}` does not exist, or lies in no granted folder; write the whole path") from None
    except IsADirectoryError:
        raise ToolError(f"`{path}` is a folder") from None
    except OSError as error:
        if error.errno in (errno.EPERM, getattr(errno, "ENOTCAPABLE", 76)):
            raise Denied("filesystem", path) from None
        raise ToolError(f"`{path}` cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise ToolError(f"`{path}` is larger than {MOST_BYTES >> 20} MiB")
    return raw


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise InvalidArguments(f"data is not base64: {error}") from None
