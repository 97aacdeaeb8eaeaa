// Genkit's client, which puts the server's name before those of its tools.
import { createMcpClient } from "@genkit-ai/mcp";
import { genkit } from "genkit";

export async function connect({ url, command, args }) {
  const client = createMcpClient({ name: "gate", mcpServer: url ? { url } : { command, args } });
  await client.ready();
  const tools = await client.getActiveTools(genkit({}));
  const named = new Map(tools.map((tool) => [tool.__action.name.replace(/^.*\//, ""), tool]));
  return {
    tools: [...named.keys()],
    call: (name, input) => named.get(name)(input),
    close: () => client.disable(),
  };
}
