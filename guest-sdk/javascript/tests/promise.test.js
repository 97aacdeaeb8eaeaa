// The promises that components use behave as the engine's own, and are settled without an event loop.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Promise as Ours } from "../src/promise.js";
import { decode, encode } from "../src/utf8.js";

// The order in which things happen, with either kind of promise.
async function order(Kind) {
  const seen = [];
  const note = (what) => (value) => {
    seen.push([what, value instanceof Error ? value.message : value]);
    return value;
  };
  const all = [
    Kind.resolve(1).then(note("a")).then(note("b")),
    new Kind((resolve) => resolve(Kind.resolve(2))).then(note("c")),
    Kind.reject(new Error("no")).catch(note("d")).finally(note("e")),
    Kind.all([Kind.resolve(3), 4]).then(note("f")),
    Kind.allSettled([Kind.reject(5), 6]).then(note("g")),
    Kind.race([new Kind(() => {}), Kind.resolve(7)]).then(note("h")),
    Kind.any([Kind.reject(8), Kind.resolve(9)]).then(note("i")),
    new Kind(() => {
      throw new Error("thrown");
    }).then(undefined, note("j")),
    Kind.resolve({ then: (resolve) => resolve("thenable") }).then(note("k")),
  ];
  const done = Kind.all(all);
  if (Kind === Ours) {
    Ours.settled(done);
  } else {
    await done;
  }
  return seen;
}

test("what happens is the same, and each chain happens in its order", async () => {
  const sorted = (seen) => seen.map((one) => JSON.stringify(one)).sort();
  const [ours, native] = [await order(Ours), await order(Promise)];
  assert.deepEqual(sorted(ours), sorted(native));
  const names = ours.map(([name]) => name);
  assert.ok(names.indexOf("a") < names.indexOf("b") && names.indexOf("d") < names.indexOf("e"));
});

test("a value or an error comes out at once, and what nothing settles is an error", () => {
  assert.equal(Ours.settled(Ours.resolve(1).then((one) => one + 1)), 2);
  assert.throws(() => Ours.settled(Ours.reject(new Error("no"))), /^Error: no$/);
  assert.throws(() => Ours.settled(new Ours(() => {})), /nothing settles/);
  let self;
  self = new Ours((resolve) => Ours.resolve().then(() => resolve(self)));
  assert.throws(() => Ours.settled(self), /cannot wait for itself/);
});

test("text is encoded and decoded as everywhere", () => {
  for (const text of ["", "a", "ä", "€", "😀", "a😀ü"]) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
    assert.equal(decode(encode(text)), text);
  }
  for (const bytes of [[0xff], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x61, 0x80, 0x62]]) {
    const text = decode(new Uint8Array(bytes));
    assert.ok(text.includes("\ufffd"), JSON.stringify(text));
  }
});
