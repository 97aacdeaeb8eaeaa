// The AI SDK's client.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";

export async function connect({ url, command, args }) {
  const client = await createMCPClient({ transport: url ? { type: "http", url } : new Stdio({ command, args }) });
  const tools = await client.tools();
  return {
    tools: Object.keys(tools),
    call: async (name, input) => tools[name].execute(input, { toolCallId: "one", messages: [] }),
    close: () => client.close(),
  };
}
