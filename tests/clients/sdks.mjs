// The two TypeScript packages behind one face, so that a script serves both.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.PORTCULLIS_NODE_MODULES;
if (!folder) {
  console.error(`${path.basename(process.argv[1])}: set PORTCULLIS_NODE_MODULES to the node_modules folder made by \`cargo xtask setup\``);
  process.exit(2);
}
/** Where the packages are. */
export const modules = path.resolve(folder);
const require = createRequire(path.join(modules, "resolve.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const info = { name: "portcullis-suite", version: "0" };

/** `client` (@modelcontextprotocol/client, both eras) or `sdk` (@modelcontextprotocol/sdk, legacy only). */
export async function open(packageName, era) {
  const sdk = packageName === "sdk" ? await older() : await newer(era);
  const manifest = path.join(modules, "@modelcontextprotocol", packageName, "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  const transport = (target) => (/^https?:/.test(target[0]) ? sdk.http(target[0]) : sdk.stdio(target[0], target.slice(1)));
  return { ...sdk, name: `${packageName} ${version}`, transport };
}

// What differs between the two packages, and nothing else does: where things are, how a handler is registered, where
// its abort signal is, and how a connection says its version.
async function newer(era) {
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
  let negotiated;
  return {
    make: (capabilities) => new Client(info, { capabilities }),
    handle: (client, method, handler) =>
      client.setRequestHandler(schemas[method], (request, extra) => handler(method, request.params ?? {}, extra.signal)),
    call: (client, params, options) => client.callTool(params, undefined, options),
    http: (url) => new StreamableHTTPClientTransport(new URL(url)),
    stdio: (command, args) => {
      const transport = new StdioClientTransport({ command, args, env: process.env });
      // Only the transport is told the version, and this one does not keep it.
      transport.setProtocolVersion = (version) => (negotiated = version);
      return transport;
    },
    version: (client) => client.transport.protocolVersion ?? negotiated,
  };
}
