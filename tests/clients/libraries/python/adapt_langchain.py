"""LangChain's adapters, which open a session for each call."""

from contextlib import asynccontextmanager

from langchain_mcp_adapters.client import MultiServerMCPClient


@asynccontextmanager
async def connect(server):
    if server.url:
        gate = {"transport": "streamable_http", "url": server.url}
    else:
        gate = {"transport": "stdio", "command": server.command, "args": server.args}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"gate": gate}).get_tools()}

    async def call(name, arguments):
        return await tools[name].ainvoke(arguments)

    yield list(tools), call
