"""smolagents' client, whose names are without `-`."""

import asyncio
from contextlib import asynccontextmanager

from mcp import StdioServerParameters
from smolagents import MCPClient


@asynccontextmanager
async def connect(server):
    if server.url:
        gate = {"url": server.url, "transport": "streamable-http"}
    else:
        gate = StdioServerParameters(command=server.command, args=server.args)
    client = await asyncio.to_thread(MCPClient, gate, structured_output=False)
    tools = {tool.name: tool for tool in client.get_tools()}

    async def call(name, arguments):
        return await asyncio.to_thread(tools[name.replace("-", "_")], **arguments)

    yield list(tools), call
    await asyncio.to_thread(client.disconnect)
