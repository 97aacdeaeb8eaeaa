"""FastMCP with five hundred tools, which its clients see as three."""

from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

# The usual limit is 50 calls of tools in one program.
server = FastMCP("code-mode", transforms=[CodeMode(max_tool_calls=256)])


def add(name: str) -> None:
    def tool(id: int, query: str) -> dict:
        return {"tool": name, "length": len(query)}

    server.tool(tool, name=name, description=f"Does what {name} says.")


for number in range(500):
    add(f"read_{number}")
server.run(show_banner=False)
