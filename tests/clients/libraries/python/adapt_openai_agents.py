"""The OpenAI Agents SDK: what its function tools do when a model calls them."""

import json
from contextlib import asynccontextmanager

from agents import RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil


@asynccontextmanager
async def connect(server):
    if server.url:
        connection = MCPServerStreamableHttp({"url": server.url})
    else:
        connection = MCPServerStdio({"command": server.command, "args": server.args})
    async with connection:
        tools = {tool.name: tool for tool in await connection.list_tools()}

        async def call(name, arguments):
            context = RunContextWrapper(None)
            return await MCPUtil.invoke_mcp_tool(connection, tools[name], context, json.dumps(arguments))

        yield list(tools), call
