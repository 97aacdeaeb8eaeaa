// Mastra's client, which puts the server's name before those of its tools.
import { MCPClient } from "@mastra/mcp";

export async function connect({ url, command, args }) {
  const client = new MCPClient({ servers: { gate: url ? { url: new URL(url) } : { command, args } } });
  const tools = await client.listTools();
  return {
    tools: Object.keys(tools).map((name) => name.replace(/^gate_/, "")),
    call: async (name, input) => tools[`gate_${name}`].execute(input, {}),
    close: () => client.disconnect(),
  };
}
