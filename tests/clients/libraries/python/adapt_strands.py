"""Strands Agents' client."""

from contextlib import asynccontextmanager

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from strands.tools.mcp import MCPClient


@asynccontextmanager
async def connect(server):
    def transport():
        if server.url:
            return streamable_http_client(server.url)
        return stdio_client(StdioServerParameters(command=server.command, args=server.args))

    with MCPClient(transport) as client:

        async def call(name, arguments):
            return await client.call_tool_async("one", name, arguments)

        yield [tool.tool_name for tool in client.list_tools_sync()], call
