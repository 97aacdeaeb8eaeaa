/** The extension `dev.portcullis/partial-results`: what a tool gives while it still runs. */
import { createHash, randomBytes } from "node:crypto";

import { type ClientLike, type JsonObject, hear, isObject } from "./peer.js";

const IDENTIFIER = "dev.portcullis/partial-results";
const TOKEN = "dev.portcullis/partialResultToken";
const STREAM = "dev.portcullis/stream";
const CALL = "dev.portcullis/call";

/** How many chunks may overtake one before it is taken for lost. Libraries reorder by a few; a server may drop some. */
const REORDER = 16;
/** How long chunks may come after their result, which an SDK handles on a task of its own. */
const LATE_MS = 1000;
/** Bounds what a server that says it gave a thousand million chunks makes us list. */
const MAX_MISSING = 10_000;

/** A piece of a tool's output; as trustworthy as its result, which is not at all. */
export interface Chunk {
  readonly seq: number;
  /** Content blocks as the server sent them. */
  readonly content: readonly JsonObject[];
  readonly meta: JsonObject;
  /** The id of the call, by which it can be steered. */
  readonly call: string | undefined;
  /** The text of its text blocks, one after the other. */
  readonly text: string;
}

/** What became of a call's chunks. */
export interface Delivery {
  /** By the tool. */
  given: number;
  /** By the server, for a reader that was behind. */
  dropped: number;
  received: number;
  /** The numbers of the chunks that are not here, dropped or lost. */
  missing: number[];
  /** Every chunk that was sent is here, as it was sent: the hash fits. */
  intact: boolean;
}

/** A call under way: its chunks in their order, then its result. */
export class Run<R = unknown> implements AsyncIterable<Chunk> {
  /** The call's result, complete without any chunk. */
  readonly result: Promise<R>;
  /** The id of the call once a chunk has told it, for `steer`. */
  call: string | undefined;
  readonly #chunks = new Map<number, Chunk>();
  readonly #max: number;
  #next = 0;
  #stream: JsonObject | undefined;
  #ended = false;
  #wake: () => void = () => {};
  #changed = new Promise<void>((resolve) => (this.#wake = resolve));

  /** @internal */
  constructor(result: Promise<R>, max: number, done: () => void) {
    this.#max = max;
    this.result = this.#finish(result).finally(() => {
      this.#ended = true;
      done();
      this.#wake();
    });
    // Whoever only iterates has not missed an error: the iteration throws it.
    this.result.catch(() => {});
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Chunk> {
    for (;;) {
      const changed = this.#changed;
      const chunk = this.#take();
      if (chunk) yield chunk;
      else if (this.#ended) break;
      else await changed;
    }
    await this.result;
  }

  /** Those that are here, in their order. */
  get chunks(): Chunk[] {
    return [...this.#chunks.values()].sort((a, b) => a.seq - b.seq);
  }

  /** Whether all is here; known when there is a result. */
  get delivery(): Delivery {
    const stream = this.#stream;
    if (!stream) throw new Error("what was delivered is known when there is a result");
    const [given, dropped] = [count(stream.chunks), count(stream.dropped)];
    const missing: number[] = [];
    for (let seq = 0; seq < Math.min(given, MAX_MISSING); seq += 1) if (!this.#chunks.has(seq)) missing.push(seq);
    const received = this.#chunks.size;
    const intact = given - dropped === received && (given === 0 || stream.sha256 === digest(this.chunks));
    return { given, dropped, received, missing, intact };
  }

  /** @internal */
  keep(chunk: Chunk, final: boolean): void {
    this.call = chunk.call ?? this.call;
    if (!final && !this.#chunks.has(chunk.seq) && this.#chunks.size < this.#max) this.#chunks.set(chunk.seq, chunk);
    const wake = this.#wake;
    this.#changed = new Promise((resolve) => (this.#wake = resolve));
    wake();
  }

  /** The next chunk; one that is missing is passed over when nothing more comes, or too much came after it. */
  #take(): Chunk | undefined {
    let waiting = 0;
    let first = Infinity;
    for (const seq of this.#chunks.keys()) {
      if (seq < this.#next) continue;
      waiting += 1;
      first = Math.min(first, seq);
    }
    if (waiting === 0 || (first !== this.#next && !this.#ended && waiting <= REORDER)) return undefined;
    this.#next = first + 1;
    return this.#chunks.get(first);
  }

  async #finish(calling: Promise<R>): Promise<R> {
    const result = await calling;
    const stream = metaOf(result)[STREAM];
    const known = isObject(stream) ? stream : {};
    const due = count(known.chunks) - count(known.dropped);
    const end = performance.now() + LATE_MS;
    while (this.#chunks.size < Math.min(due, this.#max) && performance.now() < end) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, end - performance.now())));
      await Promise.race([this.#changed, late]);
      clearTimeout(timer);
    }
    this.#stream = known;
    return result;
  }
}

/** Chunks of one client's calls. */
export class PartialResults {
  /** For the client's `capabilities.extensions`. */
  readonly extensions = { [IDENTIFIER]: {} };
  readonly #runs = new Map<string, Run>();

  /** `onChunk` hears the chunks of calls that are not made by `run`, as they come. `maxChunks` of a call are kept. */
  constructor(
    private readonly onChunk?: (chunk: Chunk) => void,
    private readonly maxChunks = 10_000,
  ) {}

  /** Before `client.connect`, after any fallback handler of yours. */
  attach<C extends ClientLike>(client: C): C {
    hear(client, { "notifications/dev.portcullis/partial_result": (params) => this.#heard(params) });
    return client;
  }

  /**
   * Makes a call, with the `_meta` that tells its chunks from others':
   * `run((_meta) => client.callTool({ name, arguments, _meta }))`.
   */
  run<R>(call: (meta: JsonObject) => Promise<R>): Run<R> {
    const token = randomBytes(12).toString("base64url");
    const run = new Run(call({ [TOKEN]: token }), this.maxChunks, () => this.#runs.delete(token));
    this.#runs.set(token, run);
    return run;
  }

  #heard(params: JsonObject): void {
    const { seq, final, token } = params;
    if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) return;
    const content = Array.isArray(params.content) ? params.content.filter(isObject) : [];
    const meta = metaOf(params);
    const text = content.map((block) => (block.type === "text" ? String(block.text) : "")).join("");
    const chunk = { seq, content, meta, text, call: typeof meta[CALL] === "string" ? meta[CALL] : undefined };
    const run = typeof token === "string" ? this.#runs.get(token) : undefined;
    if (run) run.keep(chunk, final === true);
    else if (final !== true) this.onChunk?.(chunk);
  }
}

/** Makes a `PartialResults`. */
export function partialResults(onChunk?: (chunk: Chunk) => void): PartialResults {
  return new PartialResults(onChunk);
}

/** The hash over chunks that the result of their call names. */
export function digest(chunks: readonly Pick<Chunk, "seq" | "content">[]): string {
  const hash = createHash("sha256");
  for (const { seq, content } of [...chunks].sort((a, b) => a.seq - b.seq)) {
    hash.update(`chunk ${seq} ${content.length}\n`);
    for (const block of content) {
      const payload = said(block);
      hash.update(`${String(block.type)} ${payload.length}\n`).update(payload);
    }
  }
  return hash.digest("hex");
}

function said(block: JsonObject): Buffer {
  const resource = isObject(block.resource) ? block.resource : {};
  switch (block.type) {
    case "text":
      return Buffer.from(String(block.text));
    case "image":
    case "audio":
      return Buffer.from(String(block.data), "base64");
    case "resource_link":
      return Buffer.from(String(block.uri));
    case "resource":
      return typeof resource.text === "string" ? Buffer.from(resource.text) : Buffer.from(String(resource.blob), "base64");
    default:
      return Buffer.alloc(0);
  }
}

function metaOf(message: unknown): JsonObject {
  return isObject(message) && isObject(message._meta) ? message._meta : {};
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
