// Timers without an event loop: they run, in their order, while a promise is waited for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { use } from "../src/host.js";
import { Promise as Ours } from "../src/promise.js";

const { setTimeout: nodes } = globalThis;
await import("../src/globals/timers.js");
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = globalThis;

/** Waits for nothing: the clock is set forward. */
function withClock(work) {
  const { now } = Date;
  let time = 1000;
  const slept = [];
  Date.now = () => time;
  const before = use({
    sleep(left) {
      slept.push(left);
      time += left;
    },
  });
  try {
    return [work(), slept];
  } finally {
    use(before);
    Date.now = now;
  }
}

test("timers are ours", () => assert.notEqual(setTimeout, nodes));

test("they run when they are due, and what was cleared does not", () => {
  const seen = [];
  const [, slept] = withClock(() =>
    Ours.settled(
      new Ours((resolve) => {
        setTimeout((one, other) => seen.push(one + other), 30, "thirty", "!");
        setTimeout(() => seen.push("ten"), 10);
        setTimeout(() => seen.push("ten, later"), 10);
        clearTimeout(setTimeout(() => seen.push("cleared"), 5));
        setImmediate(() => seen.push("at once"));
        const every = setInterval(() => {
          seen.push("every");
          if (seen.filter((one) => one === "every").length === 2) {
            clearInterval(every);
          }
        }, 12);
        setTimeout(resolve, 40);
      }),
    ),
  );
  assert.deepEqual(seen, ["at once", "ten", "ten, later", "every", "every", "thirty!"]);
  assert.deepEqual(slept, [10, 2, 12, 6, 10]);
});

test("what waits for too long or for no number does not wait, as in browsers", () => {
  for (const delay of [Infinity, 2 ** 31, 1e300, "1e10"]) {
    const [value, slept] = withClock(() => Ours.settled(new Ours((resolve) => setTimeout(resolve, delay, "run"))));
    assert.deepEqual([value, slept], ["run", [1]], `${delay}`);
  }
  for (const delay of [NaN, -Infinity, undefined, "soon"]) {
    const [value, slept] = withClock(() => Ours.settled(new Ours((resolve) => setTimeout(resolve, delay, "run"))));
    assert.deepEqual([value, slept], ["run", []], `${delay}`);
  }
  const [, slept] = withClock(() => Ours.settled(new Ours((resolve) => setTimeout(resolve, 2 ** 31 - 1))));
  assert.deepEqual(slept, [2 ** 31 - 1]);
});

test("nobody waits for what is not waited for, and an error in a timer is that of the call", () => {
  const [value, slept] = withClock(() => {
    setTimeout(() => assert.fail("it runs after the end"), 5);
    return Ours.settled(Ours.resolve(7));
  });
  assert.deepEqual([value, slept], [7, []]);
  const late = () => {
    throw new Error("late");
  };
  assert.throws(() => withClock(() => Ours.settled(new Ours(() => setTimeout(late, 1)))), /^Error: late$/);
  assert.throws(() => setTimeout("code", 1), /needs a function/);
});
