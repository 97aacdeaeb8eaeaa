// The older SDK.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export async function connect({ url, command, args }) {
  const client = new Client({ name: "journey", version: "0" });
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }));
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  };
}
