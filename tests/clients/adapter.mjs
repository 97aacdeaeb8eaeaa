// Lets a server's tool call this client's tools through `@portcullis/client`, and prints what happened as one line of JSON.
//
// usage: node adapter.mjs PACKAGE ERA LANES SCRIPT URL                      (Streamable HTTP)
//        node adapter.mjs PACKAGE ERA LANES SCRIPT -- COMMAND [ARG ...]     (stdio)
//
// PACKAGE is client (@modelcontextprotocol/client, both revisions) or sdk (@modelcontextprotocol/sdk, legacy only). The rest
// is as in adapter.py, and so is the output.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.PORTCULLIS_NODE_MODULES;
if (!modules) {
  console.error("adapter.mjs: set PORTCULLIS_NODE_MODULES to the node_modules folder made by `cargo xtask setup`");
  process.exit(2);
}
const require = createRequire(path.join(path.resolve(modules), "resolve.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const adapter = path.join(path.resolve(modules), "../portcullis-client/dist/src/index.js");
const { clientTools, currentCall, partialResults, steer, tool } = await import(pathToFileURL(adapter));

const [packageName, era, lanes, scriptText, ...rest] = process.argv.slice(2);
const script = JSON.parse(scriptText);
const target = rest[0] === "--" ? rest.slice(1) : rest;

const counts = {};
const calls = [];
let [atOnce, most] = [0, 0];
const count = (name) => (counts[name] = (counts[name] ?? 0) + 1);
const of = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});
const OTHER_DAY = "2026-12-31";

const freeSlots = tool({
  name: "calendar.free_slots",
  description: "Free hours of one day.",
  inputSchema: of("day"),
  annotations: { readOnlyHint: true },
  private: script.private === true,
  run: async ({ day }) => {
    count("free_slots");
    most = Math.max(most, ++atOnce);
    await new Promise((done) => setTimeout(done, 5));
    atOnce -= 1;
    if (day === script.breaks) throw new Error("a secret");
    return { day, slots: day === OTHER_DAY ? ["18:00"] : ["10:00", "11:00"] };
  },
});

const createEvent = tool({
  name: "calendar.create_event",
  description: "Puts an event into the calendar.",
  inputSchema: of("day", "start", "title"),
  run: async ({ day, start, title }) => {
    count("create_event");
    const { plugin, tool: name, purpose, chain } = currentCall();
    calls.push({ plugin, tool: name, purpose, chain: Boolean(chain) });
    if (script.again) {
      const { tool: again, arguments: args = {} } = script.again;
      const inner = await client.callTool({ name: again, arguments: args, _meta: tools.chain() });
      calls.push({ again: inner.isError ?? false, text: inner.content[0]?.text ?? "" });
    }
    return { id: `${day}-${start.slice(0, 2)}`, day, start, title };
  },
});

const tools = clientTools({
  tools: [freeSlots, createEvent],
  lanes: lanes.split(","),
  approve: ({ arguments: { day } }) => {
    if (day === script.deny) return { deny: "the user said no" };
    return day === script.edit ? { edit: { day: OTHER_DAY } } : "allow";
  },
  onerror: () => {},
});
const chunks = partialResults();
const capabilities = { extensions: { ...tools.extensions, ...chunks.extensions } };
const info = { name: "portcullis-suite", version: "0" };

let client, transport;
if (packageName === "client") {
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  client = new Client(info, { versionNegotiation: { mode: era }, capabilities });
  transport = /^https?:/.test(target[0])
    ? new StreamableHTTPClientTransport(new URL(target[0]))
    : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
} else {
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  client = new Client(info, { capabilities });
  transport = /^https?:/.test(target[0])
    ? new StreamableHTTPClientTransport(new URL(target[0]))
    : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
}

tools.attach(client);
chunks.attach(client);
await client.connect(tools.over(transport));
if (tools.lanes.includes("live") && !(await tools.listen())) throw new Error("the live lane is not open");

const seen = {};
const run = chunks.run((_meta) => client.callTool({ name: script.tool, arguments: script.arguments ?? {}, _meta }));
try {
  for await (const chunk of run) {
    for (const message of chunk.seq === 0 ? (script.steer ?? []) : []) {
      seen.steered = (await steer(client, message, { call: run.call })) === run.call;
    }
  }
  seen.result = await run.result;
  seen.intact = run.delivery.intact;
} catch (error) {
  seen.error = { code: error.code, message: error.message };
}
seen.chunks = run.chunks.map(({ text }) => text);
seen.version = client.getNegotiatedProtocolVersion?.() ?? "2025-11-25";
tools.close();
console.log(JSON.stringify({ ...seen, counts, calls, most }));
await client.close();
// Timers of requests given up would keep the process for a while.
process.exit(0);
