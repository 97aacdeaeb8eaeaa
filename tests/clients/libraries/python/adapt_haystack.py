"""Haystack's toolset."""

import asyncio
from contextlib import asynccontextmanager

from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo


@asynccontextmanager
async def connect(server):
    if server.url:
        info = StreamableHttpServerInfo(url=server.url)
    else:
        info = StdioServerInfo(command=server.command, args=server.args)
    toolset = await asyncio.to_thread(MCPToolset, info, eager_connect=True)
    tools = {tool.name: tool for tool in toolset}

    async def call(name, arguments):
        return await asyncio.to_thread(tools[name].invoke, **arguments)

    yield list(tools), call
    await asyncio.to_thread(toolset.close)
