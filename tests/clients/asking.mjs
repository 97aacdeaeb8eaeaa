// Lets an unmodified TypeScript client answer a server's questions and prints what it saw as one line of JSON.
//
// usage: node asking.mjs PACKAGE ERA SCRIPT URL                      (Streamable HTTP)
//        node asking.mjs PACKAGE ERA SCRIPT -- COMMAND [ARG ...]     (stdio)
//
// PACKAGE is client (@modelcontextprotocol/client, both eras) or sdk (@modelcontextprotocol/sdk, legacy only). The rest
// is as in asking.py, and so is the output.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.PORTCULLIS_NODE_MODULES;
if (!modules) {
  console.error("asking.mjs: set PORTCULLIS_NODE_MODULES to the node_modules folder made by `cargo xtask setup`");
  process.exit(2);
}
const require = createRequire(path.join(path.resolve(modules), "resolve.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));

const [packageName, era, scriptText, ...rest] = process.argv.slice(2);
const script = JSON.parse(scriptText);
const target = rest[0] === "--" ? rest.slice(1) : rest;

// How long a question may stay open after its call was cancelled.
const WITHDRAWAL_MS = 5000;
// How long to wait for progress that is still under way.
const LATE_PROGRESS_MS = 1000;

// What differs between the two packages, and nothing else does: where things are, how a handler is registered, where
// its abort signal is, and how a connection says its version.
async function newer() {
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  return {
    make: (capabilities) => new Client(info, { versionNegotiation: { mode: era }, capabilities }),
    handle: (client, method, handler) =>
      client.setRequestHandler(method, (request, ctx) => handler(method, request.params ?? {}, ctx.mcpReq.signal)),
    call: (client, params, options) => client.callTool(params, options),
    http: (url) => new StreamableHTTPClientTransport(new URL(url)),
    stdio: (command, args) => new StdioClientTransport({ command, args, env: process.env }),
    version: (client) => client.getNegotiatedProtocolVersion(),
  };
}

async function older() {
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await load("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "elicitation/create": types.ElicitRequestSchema,
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
  };
  const transports = new WeakMap();
  return {
    make: (capabilities) => new Client(info, { capabilities }),
    handle: (client, method, handler) =>
      client.setRequestHandler(schemas[method], (request, extra) => handler(method, request.params ?? {}, extra.signal)),
    call: (client, params, options) => client.callTool(params, undefined, options),
    http: (url) => new StreamableHTTPClientTransport(new URL(url)),
    stdio: (command, args) => {
      const transport = new StdioClientTransport({ command, args, env: process.env });
      // Only the transport is told the version, and this one does not keep it.
      transport.setProtocolVersion = (version) => transports.set(transport, version);
      return transport;
    },
    version: (client) => client.transport.protocolVersion ?? transports.get(client.transport),
  };
}

const info = { name: "portcullis-suite", version: "0" };
const sdk = packageName === "sdk" ? await older() : await newer();

/** The questions of the call that is running. */
let now;

function begin(call) {
  now = { call, asked: [], progress: [], withdrawn: false };
  for (const moment of ["wasAsked", "wasAnswered", "wasWithdrawn"]) {
    now[moment] = new Promise((resolve) => (now[`${moment}Now`] = resolve));
  }
  return now;
}

/** Notes a question and says whether the user agrees. */
async function hear(method, params, signal) {
  const mine = now;
  mine.asked.push({ method, params, fields: Object.keys(params.requestedSchema?.properties ?? {}) });
  mine.wasAskedNow();
  if (mine.call.answer === "never") {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    mine.withdrawn = true;
    mine.wasWithdrawnNow();
    throw new Error("withdrawn");
  }
  mine.wasAnsweredNow();
  return mine.call.answer !== "decline";
}

async function elicit(method, params, signal) {
  if (!(await hear(method, params, signal))) return { action: "decline" };
  return params.mode === "url" ? { action: "accept" } : { action: "accept", content: now.call.content };
}

async function sample(method, params, signal) {
  await hear(method, params, signal);
  return { role: "assistant", content: { type: "text", text: "Paris" }, model: "script", stopReason: "endTurn" };
}

async function roots(method, params, signal) {
  await hear(method, params, signal);
  return { roots: [{ uri: "file:///repo", name: "repo" }] };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function make(client, call) {
  const mine = begin(call);
  const abort = new AbortController();
  const params = {
    name: call.tool,
    arguments: call.arguments,
    _meta: { "dev.portcullis/correlationId": call.name },
  };
  const onprogress = ({ message = null }) => mine.progress.push(message);
  const seen = { name: call.name, asked: mine.asked, progress: mine.progress };
  const calling = sdk.call(client, params, { onprogress, signal: abort.signal }).then(
    (result) => (seen.result = result),
    (error) => (seen.error = { code: error.code, message: error.message ?? String(error), data: error.data }),
  );
  if (call.answer === "never") {
    await Promise.race([calling, mine.wasAsked]);
    abort.abort("cancelled by the client");
  }
  if (call.answer === "stop") {
    await mine.wasAnswered;
    await Promise.race([calling, pause(call.stop_ms)]);
    abort.abort("cancelled by the client");
  }
  await calling;
  const end = performance.now() + LATE_PROGRESS_MS;
  // The client's own reports count too, so this may wait for less than there is; what is lost is lost either way.
  while (mine.progress.length < call.reports && performance.now() < end) await pause(10);
  if (call.answer === "never") {
    await Promise.race([mine.wasWithdrawn, pause(WITHDRAWAL_MS)]);
    seen.withdrawn = mine.withdrawn;
  }
  return seen;
}

const calls = {};
let protocolVersion;
for (const able of [true, false]) {
  const mine = script.filter((call) => (call.answer !== "unable") === able);
  if (mine.length === 0) continue;
  const client = sdk.make(able ? { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} } : {});
  if (able) {
    sdk.handle(client, "elicitation/create", elicit);
    sdk.handle(client, "sampling/createMessage", sample);
    sdk.handle(client, "roots/list", roots);
  }
  await client.connect(/^https?:/.test(target[0]) ? sdk.http(target[0]) : sdk.stdio(target[0], target.slice(1)));
  protocolVersion = sdk.version(client);
  for (const call of mine) calls[call.name] = await make(client, call);
  await client.close();
}
const manifest = path.join(path.resolve(modules), "@modelcontextprotocol", packageName, "package.json");
const { version } = JSON.parse(readFileSync(manifest, "utf8"));
const client = `${packageName} ${version}`;
console.log(JSON.stringify({ client, protocolVersion, calls: script.map((call) => calls[call.name]) }));
// Timers of requests given up would keep the process for a while.
process.exit(0);
