"""The agent of mcp-use, with a model over LangChain.

usage: mcp_use_agent.py (--version | TASK)

A task is a file with one JSON object: the server's `name`, `server` as in its configuration, the address of the `model`, a `prompt`.
"""

import asyncio
import importlib.metadata
import json
import sys

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient

MOST_STEPS = 100


async def main(task: dict):
    client = MCPClient.from_dict({"mcpServers": {task["name"]: task["server"]}})
    model = ChatOpenAI(model="scripted", base_url=task["model"], api_key="none")
    agent = MCPAgent(llm=model, client=client, max_steps=MOST_STEPS)
    print(await agent.run(task["prompt"]))
    await client.close_all_sessions()


if sys.argv[1] == "--version":
    print(importlib.metadata.version("mcp-use"))
else:
    with open(sys.argv[1]) as file:
        asyncio.run(main(json.load(file)))
