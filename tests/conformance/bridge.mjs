// An HTTP endpoint before a server on stdio, because the conformance suite speaks HTTP only.
//
//   node bridge.mjs PROGRAM [ARGUMENT]...
//
// A session of the older protocol has a process of its own; all requests of the newer one share a process, as they
// would share a pipe. Ids and progress tokens are replaced on the way in and restored on the way out, so that clients
// which know nothing of each other may use the same ones. What the process says goes to the HTTP response of the
// request it belongs to; where the message does not tell, to the request that came last.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

// What the specification says an HTTP server answers beside these errors.
const STATUS = { "-32601": 404, "-32602": 400, "-32020": 400, "-32021": 400, "-32022": 400 };

// One request and the HTTP response that waits for it.
class Exchange {
  constructor(request, response, modern) {
    this.id = request.id;
    this.method = request.method;
    this.token = request.params?._meta?.progressToken;
    this.response = response;
    this.modern = modern;
  }

  // A message before the answer makes the response a stream.
  say(message) {
    if (!this.response.headersSent) this.response.writeHead(200, { "Content-Type": "text/event-stream" });
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  answer(message) {
    if (this.response.headersSent) {
      this.say(message);
      this.response.end();
    } else {
      json(this.response, (this.modern && STATUS[message.error?.code]) || 200, message, this.session);
    }
  }
}

// One server process.
class Process {
  constructor(modern, ended) {
    this.modern = modern;
    this.exchanges = new Map();
    this.last = 0;
    this.listener = undefined;
    const [program, ...rest] = process.argv.slice(2);
    this.child = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {});
    createInterface({ input: this.child.stdout }).on("line", (line) => this.heard(JSON.parse(line)));
    this.child.on("close", () => {
      for (const { response } of this.exchanges.values()) response.destroy();
      this.listener?.end();
      ended();
    });
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  request(message, response, session) {
    const id = ++this.last;
    const exchange = new Exchange(message, response, this.modern);
    exchange.session = session;
    this.exchanges.set(String(id), exchange);
    const inner = structuredClone({ ...message, id });
    if (exchange.token !== undefined) inner.params._meta.progressToken = id;
    response.on("close", () => {
      // A lost stream is a cancel in the newer protocol only.
      if (this.exchanges.has(String(id)) && this.modern) {
        this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
        this.exchanges.delete(String(id));
      }
    });
    this.send(inner);
  }

  // A notification, or an answer to a request of the server's.
  tell(message) {
    const requestId = message.params?.requestId;
    if (requestId === undefined) return this.send(message);
    const found = [...this.exchanges].find(([, exchange]) => exchange.id === requestId);
    if (found) this.send({ ...message, params: { ...message.params, requestId: Number(found[0]) } });
  }

  heard(message) {
    if (message.method === undefined) {
      const exchange = this.exchanges.get(String(message.id));
      if (!exchange) return;
      this.exchanges.delete(String(message.id));
      exchange.answer({ ...restored(message, exchange), id: exchange.id });
      return;
    }
    const key = message.params?._meta?.[SUBSCRIPTION] ?? message.params?.progressToken;
    const exchange = key === undefined ? this.youngest(message) : this.exchanges.get(String(key));
    if (exchange) exchange.say(restored(message, exchange));
    else this.listener?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  // Whose a message without a mark is: the last call's, as long as one is open.
  youngest(message) {
    if (message.method.endsWith("list_changed") || message.method === "notifications/resources/updated") return;
    return [...this.exchanges.values()].reverse().find((exchange) => exchange.method !== "subscriptions/listen");
  }
}

// A message with the ids that its client knows.
function restored(message, exchange) {
  const copy = structuredClone(message);
  if (copy.params?.progressToken !== undefined) copy.params.progressToken = exchange.token;
  for (const meta of [copy.params?._meta, copy.result?._meta]) {
    if (meta?.[SUBSCRIPTION] === undefined) continue;
    meta[SUBSCRIPTION] = typeof meta[SUBSCRIPTION] === "string" ? String(exchange.id) : exchange.id;
  }
  return copy;
}

function json(response, status, body, session) {
  response.writeHead(status, { "Content-Type": "application/json", ...(session && { "Mcp-Session-Id": session }) });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

const sessions = new Map();
let shared;

function post(message, session, response) {
  if (session !== undefined && !sessions.has(session)) return json(response, 404);
  let target = sessions.get(session);
  const modern = message.params?._meta?.[VERSION] !== undefined;
  if (!target && message.method === "initialize" && !modern) {
    const name = randomUUID();
    target = new Process(false, () => sessions.delete(name));
    sessions.set(name, target);
    return target.request(message, response, name);
  }
  target ??= shared ??= new Process(true, () => (shared = undefined));
  if (message.method !== undefined && message.id !== undefined) return target.request(message, response);
  target.tell(message);
  return json(response, 202);
}

const server = createServer(async (request, response) => {
  const session = request.headers["mcp-session-id"];
  const target = sessions.get(session);
  if (request.method === "POST") {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    post(JSON.parse(Buffer.concat(chunks).toString()), session, response);
  } else if (session === undefined) {
    json(response, 405);
  } else if (!target) {
    json(response, 404);
  } else if (request.method === "GET") {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
    target.listener = response;
  } else {
    sessions.delete(session);
    target.child.stdin.end();
    json(response, 200);
  }
});
server.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`));
