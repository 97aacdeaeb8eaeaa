"""Which pages are meant: `3`, `1-5`, `2,7-9`, `10-`."""

import re

from portcullis_guest import InvalidArguments

_PART = re.compile(r"([0-9]{1,7})(-([0-9]{1,7})?)?")


def parse(text: str, total: int) -> list[int]:
    """The numbers, ascending, each once. An end beyond the last page means the last page."""
    numbers: set[int] = set()
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        if not found:
            raise InvalidArguments(f"pages: `{part.strip()}` is neither a page nor a range; write 3, 1-5, 2,7-9 or 10-")
        first = int(found[1])
        last = first if not found[2] else int(found[3]) if found[3] else max(total, first)
        if first < 1 or last < first:
            raise InvalidArguments(f"pages: `{part.strip()}` must count up from 1")
        if first > total:
            raise InvalidArguments(f"pages: the document has {total} pages, none has the number {first}")
        numbers.update(range(first, min(last, total) + 1))
    return sorted(numbers)
