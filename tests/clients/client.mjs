// Drives one tool call with the unmodified TypeScript client and prints what it saw as one line of JSON.
//
// usage: node client.mjs [options] URL                      (Streamable HTTP)
//        node client.mjs [options] -- COMMAND [ARG ...]     (stdio)
//
// Same options and same output as client.py. The client's packages live in target/node, outside this folder, so they
// are found through PORTCULLIS_NODE_MODULES.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const modules = process.env.PORTCULLIS_NODE_MODULES;
if (!modules) {
  console.error("client.mjs: set PORTCULLIS_NODE_MODULES to the node_modules folder made by `cargo xtask setup`");
  process.exit(2);
}
const require = createRequire(path.join(path.resolve(modules), "resolve.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const EXTENSION = "dev.portcullis/partial-results";
const PARTIAL_RESULT = "notifications/dev.portcullis/partial_result";

const { values: options, positionals: target } = parseArgs({
  allowPositionals: true,
  options: {
    era: { type: "string", default: "auto" }, // auto, legacy, 2026-07-28
    extension: { type: "boolean", default: false },
    "no-progress": { type: "boolean", default: false },
    tool: { type: "string" },
    args: { type: "string", default: "{}" },
    "cancel-after": { type: "string" },
    then: { type: "string" },
    "then-args": { type: "string", default: "{}" },
  },
});
if (target.length === 0) {
  console.error("client.mjs: name a URL, or a command after --");
  process.exit(2);
}

const transport = /^https?:/.test(target[0])
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
const mode = ["auto", "legacy"].includes(options.era) ? options.era : { pin: options.era };
const client = new Client(
  { name: "portcullis-suite", version: "0" },
  {
    versionNegotiation: { mode },
    capabilities: options.extension ? { extensions: { [EXTENSION]: {} } } : {},
  },
);

// Reports as they arrive, before the client looks for whom they are.
const arrived = [];
transport.onmessage = ({ method, params }) => {
  if (method !== "notifications/progress") return;
  arrived.push({ progress: params.progress, total: params.total ?? null, message: params.message ?? null, t_ms: now() });
};

let start = 0;
const now = () => Math.round((performance.now() - start) * 1000) / 1000;
const chunks = [];
client.fallbackNotificationHandler = async ({ method, params }) => {
  if (method === PARTIAL_RESULT && !params.final) chunks.push({ seq: params.seq, content: params.content, t_ms: now(), token: params.token });
};

async function call(name, args, progress, cancelAfter) {
  const abort = new AbortController();
  const seen = {};
  let timer;
  start = performance.now();
  if (cancelAfter !== undefined) {
    timer = setTimeout(() => {
      seen.cancelled_ms = now();
      abort.abort("cancelled by the client");
    }, Number(cancelAfter));
  }
  const onprogress = options["no-progress"]
    ? undefined
    : ({ progress: done, total = null, message = null }) => progress.push({ progress: done, total, message, t_ms: now() });
  try {
    seen.result = await client.callTool({ name, arguments: JSON.parse(args) }, { onprogress, signal: abort.signal });
  } catch (error) {
    seen.error = { code: error.code, message: error.message ?? String(error), data: error.data };
  } finally {
    clearTimeout(timer);
  }
  seen.ended_ms = now();
  return seen;
}

await client.connect(transport);
const { tools } = await client.listTools();
let seen = { protocolVersion: client.getNegotiatedProtocolVersion(), tools };
if (options.tool) {
  const progress = [];
  seen = { ...seen, ...(await call(options.tool, options.args, progress, options["cancel-after"])) };
  // Notifications are handled on tasks of their own: the last may come after the result.
  await new Promise((done) => setTimeout(done, 200));
  seen.chunks = chunks.sort((a, b) => a.seq - b.seq);
  // A report that is read together with the result finds nobody any more: the client takes the result first.
  seen.progress = [...progress, ...arrived.slice(progress.length)];
}
if (options.then) seen.then = await call(options.then, options["then-args"], []);
console.log(JSON.stringify(seen));
await client.close();
