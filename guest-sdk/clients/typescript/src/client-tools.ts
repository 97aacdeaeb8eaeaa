/** The extension `dev.portcullis/client-tools`: this client's tools, called by a server's. */
import { LiveLane } from "./live.js";
import { type ClientLike, type JsonObject, RpcError, answer } from "./peer.js";
import { IDENTIFIER, RetryLane } from "./retry.js";
import { type Approve, type Limits, Runner } from "./runner.js";
import { MAX_TOOLS, type Tool } from "./tool.js";

export type Lane = "live" | "retry" | "request";

export interface ClientToolsOptions {
  tools: readonly Tool[];
  /** Asked before each call. Without it every call of a declared tool is run. */
  approve?: Approve;
  /** Which of the tools are declared at all, by name or pattern (`calendar.*`); all without it. */
  allow?: readonly string[];
  limits?: Limits;
  /** How calls may come; `["retry", "request"]`, which need nothing that stays open. */
  lanes?: readonly Lane[];
  /** How often one request is made again, at most; 16. */
  maxRounds?: number;
  /** Told of errors of tools and approvals, which no server learns; `console.error` without it. */
  onerror?: (error: unknown, tool: string) => void;
}

const LANES: readonly Lane[] = ["live", "retry", "request"];
const TOOLS_CALL = "dev.portcullis/tools/call";
/** JSON-RPC's range for a server's own errors; what matters is `data.code`. */
const REFUSED = -32000;

/** Functions of this client that the tools of one server may call while they run. One instance serves one client. */
export class ClientTools {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly lanes: readonly Lane[];
  readonly #runner: Runner;
  readonly #live: LiveLane | undefined;
  readonly #maxRounds: number;
  #client: ClientLike | undefined;

  constructor(options: ClientToolsOptions) {
    const allowed = options.allow?.map(pattern);
    const tools = new Map<string, Tool>();
    for (const tool of options.tools) {
      if (allowed && !allowed.some((one) => one.test(tool.name))) continue;
      if (tools.has(tool.name)) throw new TypeError(`there are two tools ${JSON.stringify(tool.name)}`);
      tools.set(tool.name, tool);
    }
    if (tools.size > MAX_TOOLS) throw new RangeError(`a client may declare at most ${MAX_TOOLS} tools, not ${tools.size}`);
    this.lanes = [...new Set<Lane>(options.lanes ?? ["retry", "request"])];
    if (this.lanes.length === 0 || !this.lanes.every((lane) => LANES.includes(lane))) {
      throw new TypeError(`lanes must be some of ${LANES.join(", ")}`);
    }
    const onerror = options.onerror ?? ((error, tool) => console.error(`@portcullis/client: the tool ${tool} failed:`, error));
    this.tools = tools;
    this.#runner = new Runner(tools, options.approve, onerror, options.limits);
    this.#live = this.lanes.includes("live") ? new LiveLane(this.#runner) : undefined;
    this.#maxRounds = options.maxRounds ?? 16;
  }

  /** What the client declares. */
  get settings(): JsonObject {
    return {
      allowServerCalls: true,
      tools: [...this.tools.values()].map((tool) => tool.declaration),
      lanes: this.lanes,
      limits: this.#runner.limits,
      ...(this.#live ? { channel: this.#live.channel } : {}),
    };
  }

  /** For the client's `capabilities.extensions`. */
  get extensions(): { [IDENTIFIER]: JsonObject } {
    return { [IDENTIFIER]: this.settings };
  }

  /**
   * The transport with lane `retry`, for `client.connect`. Calls that a tool of ours makes through it carry the chain
   * they belong to.
   */
  over<T extends object>(transport: T): T {
    return RetryLane.over(transport, this.#runner, this.#maxRounds);
  }

  /** Answers what comes in the lanes `request` and `live`. Before `client.connect`, after any fallback handler of yours. */
  attach<C extends ClientLike>(client: C): C {
    if (this.#client) throw new Error("these tools are attached to a client already; each client needs its own");
    this.#client = client;
    this.#live?.attach(client);
    if (this.lanes.includes("request")) answer(client, TOOLS_CALL, (params, signal) => this.#request(params, signal));
    return client;
  }

  /** Opens lane `live` and keeps it open until `close`. After `client.connect`. `false`: it is not open (yet). */
  async listen(): Promise<boolean> {
    if (!this.#live) throw new Error('lane "live" is not among the lanes of these tools');
    return this.#live.open();
  }

  /** `_meta` of a request to the same server that is made within a tool; `over` adds it by itself. */
  chain(): JsonObject {
    const chain = this.#runner.chain();
    return chain === undefined ? {} : { "dev.portcullis/chain": chain };
  }

  /** Ends lane `live`. Calls that still run there are given up. */
  close(): void {
    this.#live?.close();
  }

  async #request(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const outcome = await this.#runner.outcome(params, signal);
    if (!("error" in outcome)) return { ...outcome };
    const { code, message } = outcome.error;
    throw new RpcError(REFUSED, message, { code });
  }
}

/** Makes a `ClientTools`. */
export function clientTools(options: ClientToolsOptions): ClientTools {
  return new ClientTools(options);
}

/** `*` stands for anything, everything else for itself. */
function pattern(text: string): RegExp {
  const parts = text.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su");
}
