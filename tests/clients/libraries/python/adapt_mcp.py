"""The SDK itself."""

from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters


@asynccontextmanager
async def connect(server):
    stdio = StdioServerParameters(command=server.command, args=server.args)
    async with Client(server.url or stdio) as client:
        tools = (await client.list_tools()).tools
        yield [tool.name for tool in tools], client.call_tool
