// mcporter's runtime.
import { createRuntime } from "mcporter";

export async function connect({ url, command, args }) {
  const access = url ? { kind: "http", url: new URL(url) } : { kind: "stdio", command, args, cwd: process.cwd() };
  const runtime = await createRuntime({ servers: [{ name: "gate", command: access }] });
  const tools = await runtime.listTools("gate");
  return {
    tools: tools.map((tool) => tool.name),
    call: (name, input) => runtime.callTool("gate", name, { args: input }),
    close: () => runtime.close(),
  };
}
