"""A request of which nobody knows whether it happened, when the host has ended meanwhile."""

from portcullis_guest import NOT_DONE, Doubt, http, reconcile, tool


@tool(execution="may-run-long")
def reserve(name: str) -> str:
    """Reserves a place."""
    response = http.post(f"http://localhost:8444/v1/place/{name}", json={"name": name})
    return f"{response.status} {response.text}"


@reconcile
def find_out(doubt: Doubt) -> http.Response | object:
    match doubt.effect:
        case http.Request(method="POST", url=url) if doubt.tool == "reserve" and doubt.arguments()["name"] != "lost":
            found = http.get(url)
            if found.status == 404:
                return NOT_DONE
            return http.Response(201, [("content-type", "text/plain")], found.body) if found.ok else None
    return None
