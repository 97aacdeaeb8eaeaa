/** A server in memory that says exactly what a test wants, behind the transport interface of both SDKs. */
import { Client } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";

import type { ClientLike, JsonObject } from "../src/index.js";

export type Answer = (params: JsonObject, server: FakeServer) => unknown;
type Wire = JsonObject & { id?: string | number; method?: string; params?: JsonObject };

const MODERN = "2026-07-28";

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message = "no",
    readonly data?: JsonObject,
  ) {
    super(message);
  }
}

export class FakeServer {
  onmessage?: (message: never, extra?: never) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly asked: { method: string; params: JsonObject; id: unknown }[] = [];
  readonly heard: Wire[] = [];
  capabilities: JsonObject = {};
  revision = MODERN;
  #ids = 0;
  readonly #answers = new Map<unknown, (message: Wire) => void>();

  constructor(readonly answers: Record<string, Answer> = {}) {}

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.();
  }

  async send(message: object): Promise<void> {
    const said = structuredClone(message) as Wire;
    if (said.method === undefined) this.#answers.get(said.id)?.(said);
    else if (said.id === undefined) this.heard.push(said);
    else void this.#answer(said.id, said.method, said.params ?? {});
  }

  async #answer(id: string | number, method: string, params: JsonObject): Promise<void> {
    this.asked.push({ method, params, id });
    try {
      this.say({ id, result: await this.#result(method, params) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      this.say({ id, error: { code, message, ...(data ? { data } : {}) } });
    }
  }

  async #result(method: string, params: JsonObject): Promise<unknown> {
    if (method === "initialize") {
      this.revision = params.protocolVersion as string;
      this.capabilities = params.capabilities as JsonObject;
      return { protocolVersion: this.revision, capabilities: { tools: {} }, serverInfo: { name: "fake", version: "0" } };
    }
    if (method === "server/discover") {
      return complete({ supportedVersions: [MODERN], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" });
    }
    if (this.revision === MODERN) {
      this.capabilities = meta(params)["io.modelcontextprotocol/clientCapabilities"] as JsonObject;
    }
    const answer = this.answers[method];
    if (!answer) throw new RpcError(-32601);
    return answer(params, this);
  }

  say(message: JsonObject): void {
    queueMicrotask(() => this.onmessage?.({ jsonrpc: "2.0", ...message } as never));
  }

  notify(name: string, params: JsonObject): void {
    this.say({ method: `notifications/dev.portcullis/${name}`, params });
  }

  /** Asks the client, and resolves to its whole response. */
  async ask(method: string, params: JsonObject): Promise<Wire> {
    const id = `ask-${(this.#ids += 1)}`;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.say({ id, method, params });
    });
  }

  requests(method: string): JsonObject[] {
    return this.asked.filter((one) => one.method === method).map(({ params }) => params);
  }
}

export function complete(fields: JsonObject = {}): JsonObject {
  return { resultType: "complete", ...fields };
}

export function said(text: string): JsonObject {
  return complete({ content: [{ type: "text", text }] });
}

export function meta(params: JsonObject | undefined): JsonObject {
  return (params?._meta ?? {}) as JsonObject;
}

export function wanted(toolCalls: JsonObject, continuation = "sealed"): JsonObject {
  return { resultType: "dev.portcullis/client-tools", toolCalls, continuation };
}

/** A call as a server describes it. */
export function call(name: string, args: JsonObject = {}): JsonObject {
  const who = { plugin: "planner", tool: "plan_day", parent: "8f1c" };
  return { name, arguments: args, ...who, purpose: "find a free hour", timeoutMs: 5000, chain: "chain-1" };
}

export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 5000;
  while (!condition()) {
    if (performance.now() > end) throw new Error("waited for 5 s in vain");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const info = { name: "test", version: "0" };

/** What a test needs of a client of either SDK. */
export interface Peer {
  client: ClientLike;
  connect(transport: object): Promise<void>;
  call(name: string, args?: JsonObject, more?: JsonObject, signal?: AbortSignal): Promise<JsonObject>;
  close(): Promise<void>;
}

export type Extensions = Record<string, JsonObject>;

export function newer(mode: "auto" | "legacy", extensions: Extensions, more: JsonObject = {}): Peer & { client: Client } {
  const capabilities = { extensions, ...more };
  const client = new Client(info, { capabilities: capabilities as never, versionNegotiation: { mode } });
  return {
    client,
    connect: (transport) => client.connect(transport as never),
    call: (name, args = {}, _meta = {}, signal) =>
      client.callTool({ name, arguments: args, _meta }, signal ? { signal } : {}) as Promise<JsonObject>,
    close: () => client.close(),
  };
}

export function older(extensions: Extensions): Peer & { client: OlderClient } {
  const client = new OlderClient(info, { capabilities: { extensions } });
  return {
    client,
    connect: (transport) => client.connect(transport as never),
    call: (name, args = {}, _meta = {}) => client.callTool({ name, arguments: args, _meta }) as Promise<JsonObject>,
    close: () => client.close(),
  };
}
