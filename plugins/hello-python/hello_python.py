"""The tools `greet` and `fetch` in Python."""

from portcullis_guest import ToolError, http, log, output, tool

# What a call reads of an answer at most.
MOST = 64 << 10


@tool(title="Greet", read_only=True, idempotent=True, open_world=False)
def greet(name: str) -> str:
    """Says hello, from Python.

    Args:
        name: Whom to greet.
    """
    log.info(f"greeting {name}")
    output.emit(f"looking for {name} ...")
    return f"Hello, {name}!"


@tool(title="Fetch", read_only=True, idempotent=True, open_world=True)
def fetch(url: str) -> str:
    """Fetches a page over https, from Python.

    Args:
        url: Such as https://example.com/page.
    """
    if not url.startswith("https://"):
        raise ToolError("only https is fetched")
    answer = http.get(url, max_body=MOST)
    return f"{answer.status} {answer.text}"
