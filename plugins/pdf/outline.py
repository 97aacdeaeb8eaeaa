"""The outline of a document, flat."""

import pypdf

MOST_TITLE = 300


def entries(pdf: pypdf.PdfReader, most: int) -> list[tuple[int, str, int | None]]:
    """Level, title and page of each entry, in their order."""
    found: list[tuple[int, str, int | None]] = []
    # Not by recursion: how deep it is, the file decides.
    ahead = [(1, iter(pdf.outline))]
    while ahead and len(found) < most:
        level, rest = ahead[-1]
        entry = next(rest, None)
        if entry is None:
            ahead.pop()
        elif isinstance(entry, list):
            ahead.append((level + 1, iter(entry)))
        else:
            found.append((level, str(entry.title)[:MOST_TITLE], _page(pdf, entry)))
    return found


def _page(pdf: pypdf.PdfReader, entry: pypdf.generic.Destination) -> int | None:
    number = pdf.get_destination_page_number(entry)
    return None if number is None or number < 0 else number + 1
