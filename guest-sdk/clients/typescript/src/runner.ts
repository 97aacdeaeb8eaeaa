/** Runs reverse calls, within limits and with approval; every call ends in one outcome. */
import { type Call, ToolError, type WireCall, current, readCall } from "./call.js";
import { FOREVER, type JsonObject, isObject } from "./peer.js";
import { type ContentResult, type Tool, asResult } from "./tool.js";

/** What one request may lead to. The server is told, and held to it. */
export interface Limits {
  /** Reverse calls in all; 100. */
  calls?: number;
  /** At once; 4. */
  parallel?: number;
  /** Of one call's arguments, as JSON; 65536. */
  argumentBytes?: number;
}

/** `edit`: run it with these arguments instead; the plugin is told. */
export type Decision = "allow" | { edit: JsonObject } | { deny: string };

/** Asked before every call, with arguments that suit the tool. */
export type Approve = (call: Call) => Decision | Promise<Decision>;

export type Code = "declined" | "unknown-tool" | "invalid-arguments" | "timeout" | "cancelled" | "exhausted" | "failed";
export type Outcome = ContentResult | { error: { code: Code; message: string } };

const EDITED = "dev.portcullis/edited";
const MAX_REASON = 500;
/** Bounds what a server that invents a parent for every call can make us remember. */
const MAX_PARENTS = 1024;

class Refused extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
  }
}

export class Runner {
  readonly limits: Required<Limits>;
  readonly #used = new Map<string, Map<string, number>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly tools: ReadonlyMap<string, Tool>,
    private readonly approve: Approve | undefined,
    private readonly onerror: (error: unknown, call: string) => void,
    limits: Limits = {},
  ) {
    this.limits = { calls: 100, parallel: 4, argumentBytes: 65536, ...limits };
    for (const [name, limit] of Object.entries(this.limits)) {
      if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`limits.${name} must be a number of at least 1`);
    }
  }

  /** The chain that a request made now belongs to: of a call that this very runner runs. */
  chain(): string | undefined {
    const now = current.getStore();
    return now?.owner === this ? now.call.chain : undefined;
  }

  /**
   * Lends the place of the call that runs now while it waits for the server, which may want it for this chain. Call what
   * it returns when the wait is over.
   */
  lend(): () => void {
    if (this.chain() === undefined) return () => {};
    this.#leave();
    let lent = true;
    return () => {
      if (lent) this.#running += 1;
      lent = false;
    };
  }

  /** Runs the call that `said` describes, JSON of the server. */
  async outcome(said: unknown, withdrawn: AbortSignal): Promise<Outcome> {
    try {
      const call = readCall(said);
      if (!call) throw new Refused("failed", "the call is malformed");
      return await this.#run(call, withdrawn);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { error: { code: error.code, message: error.message.slice(0, MAX_REASON) } };
    }
  }

  async #run(said: WireCall, withdrawn: AbortSignal): Promise<Outcome> {
    const tool = this.tools.get(said.name);
    if (!tool) throw new Refused("unknown-tool", `no tool ${JSON.stringify(said.name.slice(0, 128))} was declared`);
    this.#count(said.parent, tool);
    if (Buffer.byteLength(JSON.stringify(said.arguments)) > this.limits.argumentBytes) {
      throw new Refused("invalid-arguments", `more than ${this.limits.argumentBytes} bytes of arguments`);
    }
    const abort = new AbortController();
    const call: Call = { ...said, readOnly: tool.readOnly, private: tool.private, signal: abort.signal };
    // Whoever waits stops here; whether the function stops as well is up to it and its signal.
    const given = new Promise<never>((_, reject) => {
      abort.signal.addEventListener("abort", () => reject(abort.signal.reason as Refused), { once: true });
    });
    given.catch(() => {});
    const stop = () => abort.abort(new Refused("cancelled", "the call was withdrawn"));
    const late = () => abort.abort(new Refused("timeout", `no answer within ${said.timeout} ms`));
    if (withdrawn.aborted) stop();
    withdrawn.addEventListener("abort", stop, { once: true });
    const timer = said.timeout === undefined ? undefined : setTimeout(late, Math.min(said.timeout, FOREVER));
    try {
      return await this.#within(given, () => Promise.race([this.#approved(tool, call), given]));
    } finally {
      clearTimeout(timer);
      withdrawn.removeEventListener("abort", stop);
    }
  }

  #count(parent: string, tool: Tool): void {
    const used = this.#used.get(parent) ?? new Map<string, number>();
    // The newest last, so that the oldest is the first to go.
    this.#used.delete(parent);
    this.#used.set(parent, used);
    for (const oldest of this.#used.keys()) {
      if (this.#used.size <= MAX_PARENTS) break;
      this.#used.delete(oldest);
    }
    const ofTool = used.get(tool.name) ?? 0;
    const all = [...used.values()].reduce((sum, calls) => sum + calls, 0);
    if (all >= this.limits.calls) throw new Refused("exhausted", `more than ${this.limits.calls} calls for one request`);
    if (tool.maxCalls !== undefined && ofTool >= tool.maxCalls) {
      throw new Refused("exhausted", `more than ${tool.maxCalls} calls of ${tool.name} for one request`);
    }
    used.set(tool.name, ofTool + 1);
  }

  /** Waits for one of the places, but no longer than the call may wait. */
  async #within<T>(given: Promise<never>, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.limits.parallel) {
      let mine: () => void = () => {};
      const place = new Promise<void>((resolve) => this.#waiting.push((mine = resolve)));
      try {
        await Promise.race([place, given]);
      } catch (error) {
        const at = this.#waiting.indexOf(mine);
        if (at >= 0) this.#waiting.splice(at, 1);
        else this.#leave(); // It was ours already.
        throw error;
      }
    } else {
      this.#running += 1;
    }
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** A place goes to whoever waits longest, without ever being free in between. */
  #leave(): void {
    // More may run than is allowed where a place that was lent is taken back.
    const next = this.#running <= this.limits.parallel ? this.#waiting.shift() : undefined;
    if (next) next();
    else this.#running -= 1;
  }

  async #approved(tool: Tool, call: Call): Promise<Outcome> {
    checked(tool, call.arguments);
    const decision = await this.#decision(call);
    if (decision === "allow") return this.#called(tool, call);
    if ("deny" in decision) throw new Refused("declined", decision.deny);
    checked(tool, decision.edit);
    const result = await this.#called(tool, { ...call, arguments: decision.edit });
    return { ...result, _meta: { ...result._meta, [EDITED]: decision.edit } };
  }

  async #decision(call: Call): Promise<Decision> {
    if (!this.approve) return "allow";
    let decision: unknown;
    try {
      decision = await this.approve(call);
    } catch (error) {
      this.onerror(error, call.name);
    }
    const known = decision === "allow" || (isObject(decision) && (isObject(decision.edit) || typeof decision.deny === "string"));
    return known ? (decision as Decision) : { deny: "the call was not approved" };
  }

  async #called(tool: Tool, call: Call): Promise<ContentResult> {
    call.signal.throwIfAborted();
    try {
      return asResult(await current.run({ owner: this, call }, () => tool.run(call.arguments, call)));
    } catch (error) {
      if (error instanceof ToolError) return { content: [{ type: "text", text: error.message }], isError: true };
      if (call.signal.aborted) throw error;
      // What went wrong is ours to know: it may name files, hosts and secrets.
      this.onerror(error, tool.name);
      throw new Refused("failed", "the tool failed");
    }
  }
}

function checked(tool: Tool, args: JsonObject): void {
  const wrong = tool.check(args);
  if (wrong !== undefined) throw new Refused("invalid-arguments", wrong);
}
