// The OpenAI Agents SDK: what its function tools do when a model calls them. Their names are without `-`.
import { MCPServerStdio, MCPServerStreamableHttp, RunContext, mcpToFunctionTool } from "@openai/agents";

export async function connect({ url, command, args }) {
  const server = url ? new MCPServerStreamableHttp({ url }) : new MCPServerStdio({ command, args });
  await server.connect();
  const tools = (await server.listTools()).map((tool) => mcpToFunctionTool(tool, server, false));
  return {
    tools: tools.map((tool) => tool.name),
    call: (name, input) => {
      const tool = tools.find((tool) => tool.name === name.replaceAll("-", "_"));
      return tool.invoke(new RunContext(), JSON.stringify(input));
    },
    close: () => server.close(),
  };
}
