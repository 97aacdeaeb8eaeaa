"""mcp-use's sessions."""

from contextlib import asynccontextmanager

from mcp_use import MCPClient


@asynccontextmanager
async def connect(server):
    gate = {"url": server.url} if server.url else {"command": server.command, "args": server.args}
    client = MCPClient({"mcpServers": {"gate": gate}})
    session = await client.create_session("gate")
    yield [tool.name for tool in await session.list_tools()], session.call_tool
    await client.close_all_sessions()
