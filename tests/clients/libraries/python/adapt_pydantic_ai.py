"""Pydantic AI's toolset."""

from contextlib import asynccontextmanager

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset


@asynccontextmanager
async def connect(server):
    async with MCPToolset(server.url or StdioTransport(server.command, server.args)) as toolset:
        yield [tool.name for tool in await toolset.list_tools()], toolset.direct_call_tool
