/**
 * Lane `retry`, below the client: a transport that finishes results of the extension's own type before the client, which
 * would refuse them, sees them.
 */
import { randomUUID } from "node:crypto";

import { type JsonObject, isObject } from "./peer.js";
import type { Outcome, Runner } from "./runner.js";

export const IDENTIFIER = "dev.portcullis/client-tools";
const CHAIN = "dev.portcullis/chain";

type Id = string | number;
type Wire = JsonObject & { id?: Id; method?: string; params?: JsonObject; result?: JsonObject; error?: JsonObject };
type Receive = (message: Wire, extra?: unknown) => void;
interface SendOptions {
  requestSignal?: AbortSignal;
}

/** What a transport of either SDK is to us. */
interface RawTransport {
  send(message: Wire, options?: SendOptions): Promise<void>;
  onmessage?: Receive | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** A tools/call under way. */
interface Open {
  /** What the client knows it by. */
  readonly id: Id;
  readonly message: Wire;
  readonly options: SendOptions | undefined;
  readonly abort: AbortController;
  /** Ends the loan of a place; see `Runner.lend`. */
  readonly back: () => void;
  /** What the server knows it by now. */
  now: Id;
  rounds: number;
}

export class RetryLane {
  readonly #byClient = new Map<Id, Open>();
  readonly #byServer = new Map<Id, Open>();
  #receive: Receive | undefined;

  constructor(
    private readonly inner: RawTransport,
    private readonly runner: Runner,
    private readonly maxRounds: number,
  ) {}

  /** The transport as the client sees it: the same one, but for what is sent and received. */
  static over<T extends object>(transport: T, runner: Runner, maxRounds: number): T {
    const inner = transport as unknown as RawTransport;
    const lane = new RetryLane(inner, runner, maxRounds);
    return new Proxy(transport, {
      get(target, key) {
        if (key === "send") return (message: Wire, options?: SendOptions) => lane.#send(message, options);
        if (key === "onmessage") return lane.#receive;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
      set(target, key, value: unknown) {
        if (key !== "onmessage") return Reflect.set(target, key, value, target);
        lane.#receive = value as Receive | undefined;
        inner.onmessage = value === undefined ? undefined : (message, extra) => lane.#received(message, extra);
        return true;
      },
    });
  }

  async #send(message: Wire, options?: SendOptions): Promise<void> {
    if (message.method === "tools/call" && message.id !== undefined) {
      const chain = this.runner.chain();
      const sent = chain === undefined ? message : withMeta(message, CHAIN, chain);
      const abort = new AbortController();
      const back = this.runner.lend();
      const open: Open = { id: message.id, message: sent, options, abort, back, now: message.id, rounds: 0 };
      options?.requestSignal?.addEventListener("abort", () => this.#close(open), { once: true });
      this.#byClient.set(open.id, open);
      this.#byServer.set(open.now, open);
      try {
        return await this.inner.send(sent, options);
      } catch (error) {
        this.#close(open);
        throw error;
      }
    }
    if (message.method === "notifications/cancelled") {
      const open = this.#byClient.get(message.params?.requestId as Id);
      if (open) {
        this.#close(open);
        return this.inner.send({ ...message, params: { ...message.params, requestId: open.now } }, options);
      }
    }
    return this.inner.send(message, options);
  }

  #received(message: Wire, extra: unknown): void {
    const open = message.method === undefined && message.id !== undefined ? this.#byServer.get(message.id) : undefined;
    if (!open) return this.#receive?.(message, extra);
    this.#byServer.delete(open.now);
    if (message.result?.resultType !== IDENTIFIER) {
      this.#close(open);
      return this.#receive?.({ ...message, id: open.id }, extra);
    }
    this.#again(open, message.result).catch((error: unknown) => {
      if (open.abort.signal.aborted) return;
      this.#close(open);
      const said = error instanceof Error ? error.message : String(error);
      this.#receive?.({ jsonrpc: "2.0", id: open.id, error: { code: -32603, message: said } });
    });
  }

  /** Runs what is wanted and makes the same request again. */
  async #again(open: Open, { toolCalls, continuation }: JsonObject): Promise<void> {
    if (!isObject(toolCalls) || typeof continuation !== "string") throw new Error(`malformed result of ${IDENTIFIER}`);
    open.rounds += 1;
    if (open.rounds > this.maxRounds) {
      throw new Error(`${String(open.message.params?.name)} still wants something after ${this.maxRounds} rounds`);
    }
    const run = async ([key, call]: [string, unknown]): Promise<[string, Outcome]> => [
      key,
      await this.runner.outcome(call, open.abort.signal),
    ];
    const results = Object.fromEntries(await Promise.all(Object.entries(toolCalls).map(run)));
    if (open.abort.signal.aborted) return;
    open.now = `portcullis-${randomUUID()}`;
    this.#byServer.set(open.now, open);
    // A question that was answered before belongs to the round that is over.
    const { inputResponses: _, requestState: __, ...params } = open.message.params ?? {};
    const message = withMeta({ ...open.message, id: open.now, params }, IDENTIFIER, { continuation, results });
    await this.inner.send(message, open.options);
  }

  #close(open: Open): void {
    this.#byClient.delete(open.id);
    this.#byServer.delete(open.now);
    open.abort.abort();
    open.back();
  }
}

function withMeta(message: Wire, key: string, value: unknown): Wire {
  const meta = isObject(message.params?._meta) ? message.params._meta : {};
  return { ...message, params: { ...message.params, _meta: { ...meta, [key]: value } } };
}
