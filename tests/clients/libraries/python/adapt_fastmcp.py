"""FastMCP's client."""

from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


@asynccontextmanager
async def connect(server):
    async with Client(server.url or StdioTransport(server.command, server.args)) as client:
        yield [tool.name for tool in await client.list_tools()], client.call_tool
