"""LlamaIndex's tool specification."""

from contextlib import asynccontextmanager

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


@asynccontextmanager
async def connect(server):
    client = BasicMCPClient(server.url or server.command, args=server.args)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client).to_tool_list_async()}

    async def call(name, arguments):
        return (await tools[name].acall(**arguments)).content

    yield list(tools), call
