/** Lane `live`: calls come as notifications on a request that is kept open, answers go as requests. */
import { randomBytes } from "node:crypto";
import { setTimeout as pausing } from "node:timers/promises";

import { type ClientLike, FOREVER, type JsonObject, METHOD_NOT_FOUND, codeOf, hear, request } from "./peer.js";
import type { Runner } from "./runner.js";

const NOTIFICATION = "notifications/dev.portcullis/reverse_";
/** How long to wait for the lane before going on without; it may still open later. */
const OPEN_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Bounds the work that a server can make us start at once; the runner's limits bound what runs. */
const MAX_UNDER_WAY = 256;

export class LiveLane {
  readonly channel = randomBytes(24).toString("base64url");
  readonly #underWay = new Map<string, AbortController>();
  readonly #stop = new AbortController();
  #listening: () => void = () => {};
  #client: ClientLike | undefined;

  constructor(private readonly runner: Runner) {}

  attach(client: ClientLike): void {
    this.#client = client;
    const ours = (handler: (params: JsonObject) => void) => (params: JsonObject) => {
      if (params.channel === this.channel) handler(params);
    };
    hear(client, {
      [`${NOTIFICATION}listening`]: ours(() => this.#listening()),
      [`${NOTIFICATION}call`]: ours((params) => this.#called(client, params)),
      [`${NOTIFICATION}cancelled`]: ours(({ callId }) => this.#underWay.get(String(callId))?.abort()),
    });
  }

  /**
   * Opens the request, and again whenever it ends: a stream breaks, a server restarts. Resolves when it is open, or to
   * `false` when the server has no such lane or is late.
   */
  async open(): Promise<boolean> {
    const client = this.#client;
    if (!client) throw new Error("attach the client first");
    return new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), OPEN_MS);
      this.#listening = () => {
        clearTimeout(late);
        resolve(true);
      };
      void this.#listen(client).then(() => {
        clearTimeout(late);
        resolve(false);
      });
    });
  }

  close(): void {
    this.#stop.abort();
    for (const call of this.#underWay.values()) call.abort();
  }

  async #listen(client: ClientLike): Promise<void> {
    const { signal } = this.#stop;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const opened = performance.now();
      try {
        await request(client, "dev.portcullis/reverse/listen", { channel: this.channel }, { signal, timeout: FOREVER });
      } catch (error) {
        if (codeOf(error) === METHOD_NOT_FOUND) return;
        // Anything else may pass, also -32602 while the server still holds the channel of a stream that broke.
      }
      if (performance.now() - opened > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      await pausing(pause, undefined, { signal, ref: false }).catch(() => {});
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  #called(client: ClientLike, params: JsonObject): void {
    const { callId } = params;
    if (typeof callId !== "string" || this.#underWay.has(callId) || this.#underWay.size >= MAX_UNDER_WAY) return;
    const abort = new AbortController();
    this.#underWay.set(callId, abort);
    void this.#answer(client, callId, params, abort.signal).finally(() => this.#underWay.delete(callId));
  }

  async #answer(client: ClientLike, callId: string, params: JsonObject, signal: AbortSignal): Promise<void> {
    const outcome = await this.runner.outcome(params, signal);
    if (signal.aborted) return;
    const said = "error" in outcome ? { error: outcome.error } : { result: outcome };
    try {
      await request(client, "dev.portcullis/reverse/respond", { channel: this.channel, callId, ...said });
    } catch {
      // The server gave up meanwhile, or the connection is gone: nobody waits for this answer any more.
    }
  }
}
