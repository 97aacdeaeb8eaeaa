// Math.random of a component: from the host, once there are calls.

import assert from "node:assert/strict";
import { test } from "node:test";

import { finishLoading, use } from "../src/host.js";

const { random: engines } = Math;
let drawn = 0;
let seed = Uint8Array.from({ length: 16 }, (_, at) => 37 * at + 5);
Math.random = () => 0.25;
use({
  random(length) {
    drawn += 1;
    return seed.slice(0, length);
  },
});

/** Another component: the module is loaded anew. */
async function component(name) {
  await import(`../src/globals/random.js?${name}`);
  const { random } = Math;
  return () => Array.from({ length: 5000 }, () => random());
}

test("numbers are those of the engine while a plugin is loaded, and then the host's", async () => {
  const first = await component("first");
  assert.deepEqual([new Set(first()), drawn], [new Set([0.25]), 0]);
  finishLoading();
  const numbers = first();
  assert.equal(drawn, 1);
  assert.equal(new Set(numbers).size, numbers.length);
  seed = seed.map((byte) => 91 * byte + 7);
  const second = await component("second");
  const others = second();
  assert.equal(drawn, 2);
  assert.equal(numbers.filter((one) => others.includes(one)).length, 0);
  assert.equal(new Set([...others, ...second()]).size, 2 * others.length);
});

test("numbers are from 0 to less than 1, and fill it", async () => {
  for (const byte of [0, 0xff, 0x55]) {
    seed.fill(byte);
    const numbers = (await component(byte))();
    assert.ok(numbers.every((one) => one >= 0 && one < 1));
    const tenths = Array.from({ length: 10 }, (_, tenth) => numbers.filter((one) => Math.floor(one * 10) === tenth).length);
    assert.ok(tenths.every((count) => count > 400 && count < 600), `${tenths}`);
    // Also the last of the 53 bits.
    assert.ok(numbers.some((one) => (one * 2 ** 53) % 2 === 1));
  }
  Math.random = engines;
});
