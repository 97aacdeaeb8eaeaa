// The SDK itself, with the newer revision where the server has it.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

export async function connect({ url, command, args }) {
  const client = new Client({ name: "journey", version: "0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }));
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  };
}
