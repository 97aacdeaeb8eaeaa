"""An agent of LangGraph: a model, the tools of a server, and a loop.

usage: langgraph_agent.py (--version | TASK)

A task is a file with one JSON object: the server's `name`, `server` as the adapter wants it, the address of the `model`, a `prompt`.
"""

import asyncio
import importlib.metadata
import json
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI

# Each call and each answer is a step.
MOST_STEPS = 100


async def main(task: dict):
    client = MultiServerMCPClient({task["name"]: task["server"]})
    async with client.session(task["name"]) as session:
        model = ChatOpenAI(model="scripted", base_url=task["model"], api_key="none")
        agent = create_agent(model, await load_mcp_tools(session))
        messages = [{"role": "user", "content": task["prompt"]}]
        end = await agent.ainvoke({"messages": messages}, {"recursion_limit": MOST_STEPS})
        print(end["messages"][-1].content)


if sys.argv[1] == "--version":
    print(importlib.metadata.version("langgraph"))
else:
    with open(sys.argv[1]) as file:
        asyncio.run(main(json.load(file)))
