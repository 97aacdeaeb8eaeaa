"""Microsoft's Agent Framework."""

from contextlib import asynccontextmanager

from agent_framework import MCPStdioTool, MCPStreamableHTTPTool


@asynccontextmanager
async def connect(server):
    if server.url:
        gate = MCPStreamableHTTPTool(name="gate", url=server.url)
    else:
        gate = MCPStdioTool(name="gate", command=server.command, args=server.args)
    async with gate:

        async def call(name, arguments):
            return [content.to_dict() for content in await gate.call_tool(name, **arguments)]

        yield [function.name for function in gate.functions], call
