"""Text, pages and outlines of PDF files, from a granted folder or from the argument itself."""

from dataclasses import dataclass
from typing import Annotated

from portcullis_guest import Length, Range, output, progress, tool

import document
import outline
import page_ranges

# What one call returns of text; a model has little use for more at once.
MOST_TEXT = 256 << 10

Path = Annotated[str, Length(min=1, max=1024)]
Data = Annotated[str, Length(min=1, max=document.MOST_BYTES * 4 // 3 + 4)]


@dataclass
class Page:
    """Attributes:
        number: Counted from 1.
        text: What stands on it, in the order of the file.
    """

    number: int
    text: str


@dataclass
class Text:
    """Attributes:
        total_pages: How many pages the document has.
        truncated: Whether pages that were asked for are missing; then next_page is the first of them.
        next_page: Where to read on.
    """

    pages: list[Page]
    total_pages: int
    truncated: bool
    next_page: int | None = None


@dataclass
class Entry:
    """Attributes:
        level: 1 for chapters, 2 for what is in them, and so on.
        page: Counted from 1, if the entry leads to a page.
    """

    level: int
    title: str
    page: int | None


@dataclass
class Size:
    """Attributes:
        page: The first page of this size.
        width: In points, of which 72 are an inch.
        height: In points.
    """

    page: int
    width: float
    height: float


@dataclass
class Info:
    """Attributes:
        sizes: A page for each change of the size, 20 at most.
        metadata: What the document says of itself, such as Title and Author.
        outline_truncated: Whether the outline has more entries.
    """

    pages: int
    encrypted: bool
    sizes: list[Size]
    metadata: dict[str, str]
    outline: list[Entry]
    outline_truncated: bool


@tool(title="Text of a PDF", read_only=True, idempotent=True, open_world=False, execution="may-run-long")
def text(path: Path | None = None, data: Data | None = None, pages: Annotated[str, Length(max=200)] = "1-") -> Text:
    """Reads the text of a PDF file, page by page, and sends each page as soon as it is read.

    At most 256 KiB at once; next_page says where to read on. Scanned pages without a layer of text are empty.

    Args:
        path: A file in a granted folder. Either this or data.
        data: The file itself, in base64.
        pages: Which pages, such as `3`, `1-5`, `2,7-9` or `10-` (from 10 to the end).
    """
    with document.opened(path, data) as pdf:
        total = document.count(pdf)
        wanted = page_ranges.parse(pages, total)
        read: list[Page] = []
        room = MOST_TEXT
        for done, number in enumerate(wanted):
            said = document.text_of(pdf, number)
            size = len(said.encode())
            if size > room and read:
                return Text(read, total, True, number)
            cut = said.encode()[:room].decode(errors="ignore") if size > room else said
            read.append(Page(number, cut))
            output.emit(f"[page {number}]\n{cut}")
            progress.report(done + 1, len(wanted))
            if size > room:
                # The rest of this page cannot be asked for; the next one can.
                following = wanted[done + 1 :][:1]
                return Text(read, total, True, following[0] if following else None)
            room -= size
    return Text(read, total, False)


@tool(title="What a PDF is", read_only=True, idempotent=True, open_world=False)
def info(path: Path | None = None, data: Data | None = None, outline_entries: Annotated[int, Range(0, 1000)] = 200) -> Info:
    """Tells how many pages a PDF file has, what it says of itself, and its outline.

    Args:
        path: A file in a granted folder. Either this or data.
        data: The file itself, in base64.
        outline_entries: How many entries of the outline at most.
    """
    with document.opened(path, data) as pdf:
        entries = outline.entries(pdf, outline_entries + 1)
        sizes = [Size(*size) for size in document.sizes(pdf, 20)]
        listed = [Entry(*entry) for entry in entries[:outline_entries]]
        truncated = len(entries) > outline_entries
        return Info(document.count(pdf), pdf.is_encrypted, sizes, document.metadata(pdf), listed, truncated)
