"""Google's Agent Development Kit: its tools, outside an agent."""

from contextlib import asynccontextmanager
from unittest.mock import MagicMock

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from mcp import StdioServerParameters


@asynccontextmanager
async def connect(server):
    if server.url:
        params = StreamableHTTPConnectionParams(url=server.url)
    else:
        stdio = StdioServerParameters(command=server.command, args=server.args)
        params = StdioConnectionParams(server_params=stdio)
    toolset = McpToolset(connection_params=params)
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def call(name, arguments):
        return await tools[name].run_async(args=arguments, tool_context=MagicMock())

    yield list(tools), call
    await toolset.close()
