// Follows a long call with the unmodified TypeScript client, which does not know tasks, by the tools of the server.
//
// usage: node long_job.mjs TOOL ARGUMENTS URL
//
// Same output as long_job.py. The packages are found as in client.mjs.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(path.resolve(process.env.PORTCULLIS_NODE_MODULES), "resolve.js"));
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client")));

// A call of a client that is cut off would wait for ever.
const PATIENCE_MS = 3_000;

const [tool, parameters, url] = process.argv.slice(2);

// Over a connection of its own.
async function call(name, args) {
  const client = new Client({ name: "portcullis-suite", version: "0" }, { versionNegotiation: { mode: "auto" } });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), { timeout: PATIENCE_MS });
    return await client.callTool({ name, arguments: args }, { timeout: PATIENCE_MS });
  } finally {
    await client.close().catch(() => {});
  }
}

const seen = { results: [], failures: 0 };
const link = await call(tool, JSON.parse(parameters));
const task = link._meta["dev.portcullis/task"];
while (seen.results.length === 0) {
  let answer;
  try {
    answer = await call("task_result", { task });
  } catch {
    seen.failures += 1;
    continue;
  }
  const working = ["working", "input_required"].includes(answer.structuredContent?.status);
  if (!working) seen.results.push(...answer.content.map((block) => block.text));
}
console.log(JSON.stringify(seen));
process.exit(0);
