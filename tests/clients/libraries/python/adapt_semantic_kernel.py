"""Semantic Kernel's plugins."""

from contextlib import asynccontextmanager

from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin


@asynccontextmanager
async def connect(server):
    if server.url:
        gate = MCPStreamableHttpPlugin(name="gate", url=server.url)
    else:
        gate = MCPStdioPlugin(name="gate", command=server.command, args=server.args)
    async with gate:

        async def call(name, arguments):
            return [content.to_dict() for content in await gate.call_tool(name, **arguments)]

        functions = [getattr(gate, name) for name in dir(gate)]
        yield [function.__kernel_function_name__ for function in functions if hasattr(function, "__kernel_function__")], call
