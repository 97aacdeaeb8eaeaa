// LangChain's adapters.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

export async function connect({ url, command, args }) {
  const gate = url ? { transport: "http", url } : { transport: "stdio", command, args };
  const client = new MultiServerMCPClient({ mcpServers: { gate } });
  const tools = await client.getTools();
  return {
    tools: tools.map((tool) => tool.name),
    call: (name, input) => tools.find((tool) => tool.name === name).invoke(input),
    close: () => client.close(),
  };
}
