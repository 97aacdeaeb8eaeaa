/** Chunks: order, what is missing, the hash, several calls at once. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type JsonObject, type PartialResults, partialResults } from "../src/index.js";
import { digest } from "../src/partial-results.js";
import { FakeServer, type Peer, RpcError, meta, newer, older, said } from "./fake.js";

const TOKEN = "dev.portcullis/partialResultToken";

function chunk(seq: number, text: string) {
  return { seq, content: [{ type: "text", text }], _meta: { "dev.portcullis/call": "8f1c" } };
}

interface Stream {
  given: number;
  dropped?: number;
  sha256?: string;
}

/** A tool that gives these chunks, in this order. */
function serverOf(sent: ReturnType<typeof chunk>[], { given, dropped = 0, sha256 = digest(sent) }: Stream): FakeServer {
  return new FakeServer({
    "tools/call": (params, server) => {
      const token = meta(params)[TOKEN];
      for (const one of sent) server.notify("partial_result", { token, ...one });
      server.notify("partial_result", { token, seq: given, content: [], final: true });
      return { ...said("whole"), _meta: { "dev.portcullis/stream": { chunks: given, dropped, sha256 } } };
    },
  });
}

async function connected(server: FakeServer, chunks: PartialResults, make = newest): Promise<Peer> {
  const peer = make(chunks);
  chunks.attach(peer.client);
  await peer.connect(server);
  return peer;
}

const newest = (chunks: PartialResults): Peer => newer("auto", chunks.extensions);
const makes: [string, (chunks: PartialResults) => Peer][] = [
  ["client 2.x, 2026-07-28", newest],
  ["client 2.x, 2025-11-25", (chunks) => newer("legacy", chunks.extensions)],
  ["sdk 1.x", (chunks) => older(chunks.extensions)],
];

async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of iterable) found.push(one);
  return found;
}

test("the hash of the specification", () => {
  const chunks = [{ seq: 0, content: [{ type: "text", text: "hello" }] }];
  assert.equal(digest(chunks), "b6173ed623cad9752bfc6170ccd45b5083c856ac6a5338f3fadf2ef7e95d3066");
});

for (const [name, make] of makes) {
  test(`in order, whatever overtook: ${name}`, async () => {
    const chunks = partialResults();
    const peer = await connected(serverOf([chunk(1, "b"), chunk(0, "a"), chunk(2, "c")], { given: 3 }), chunks, make);
    const run = chunks.run((_meta) => peer.call("book", {}, _meta));
    assert.deepEqual((await all(run)).map(({ text }) => text), ["a", "b", "c"]);
    assert.deepEqual((await run.result).content, [{ type: "text", text: "whole" }]);
    assert.equal(run.call, "8f1c");
    assert.deepEqual(run.delivery, { given: 3, dropped: 0, received: 3, missing: [], intact: true });
    await peer.close();
  });
}

test("dropped by the server, or changed on the way", async () => {
  const chunks = partialResults();
  let peer = await connected(serverOf([chunk(0, "a"), chunk(3, "d")], { given: 4, dropped: 2 }), chunks);
  const gaps = chunks.run((_meta) => peer.call("book", {}, _meta));
  assert.deepEqual((await all(gaps)).map(({ seq }) => seq), [0, 3]);
  assert.deepEqual(gaps.delivery, { given: 4, dropped: 2, received: 2, missing: [1, 2], intact: true });
  await peer.close();

  const others = partialResults();
  peer = await connected(serverOf([chunk(0, "a")], { given: 1, sha256: "0".repeat(64) }), others);
  const changed = others.run((_meta) => peer.call("book", {}, _meta));
  await changed.result;
  assert.deepEqual(changed.delivery, { given: 1, dropped: 0, received: 1, missing: [], intact: false });
  await peer.close();
});

test("a gap does not stop what comes after", async () => {
  let end: () => void = () => {};
  const server = new FakeServer({
    "tools/call": async (params, mine) => {
      for (let seq = 1; seq < 30; seq += 1) mine.notify("partial_result", { token: meta(params)[TOKEN], ...chunk(seq, "") });
      await new Promise<void>((resolve) => (end = resolve));
      return said("whole");
    },
  });
  const chunks = partialResults();
  const peer = await connected(server, chunks);
  const seen: number[] = [];
  for await (const { seq } of chunks.run((_meta) => peer.call("book", {}, _meta))) {
    if (seen.push(seq) === 1) end();
  }
  assert.deepEqual(seen, Array.from({ length: 29 }, (_, n) => n + 1));
  await peer.close();
});

test("calls are kept apart, and others are heard", async () => {
  const heard: string[] = [];
  const chunks = partialResults(({ text }) => heard.push(text));
  const peer = await connected(serverOf([chunk(0, "a"), chunk(1, "b")], { given: 2 }), chunks);
  const runs = ["one", "two"].map((name) => chunks.run((_meta) => peer.call(name, {}, _meta)));
  for (const run of runs) assert.deepEqual((await all(run)).map(({ text }) => text), ["a", "b"]);
  assert.deepEqual(heard, []);
  await peer.call("three");
  assert.deepEqual(heard, ["a", "b"]);
  await peer.close();
});

test("a call that fails", async () => {
  const server = new FakeServer({
    "tools/call": (params: JsonObject) => {
      throw new RpcError(-32602, `no tool ${String(params.name)}`);
    },
  });
  const chunks = partialResults();
  const peer = await connected(server, chunks);
  const run = chunks.run((_meta) => peer.call("book", {}, _meta));
  await assert.rejects(all(run), { code: -32602 });
  await assert.rejects(run.result, { code: -32602 });
  assert.throws(() => run.delivery, /when there is a result/);
  await peer.close();
});
