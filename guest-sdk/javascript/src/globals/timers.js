// Timers. Nothing runs beside something else: when all that is left of a call is to wait, the plugin sleeps until the next timer is
// due. What is not due when the tool has answered never runs.

import "#wit/clock";

import { host, LONGEST } from "../host.js";
import { whenIdle } from "../promise.js";
import { define } from "./define.js";

// In the order in which they were made.
const timers = new Map();
let last = 0;

const add = (work, delay, args, every) => {
  if (typeof work !== "function") {
    throw new TypeError("a timer needs a function");
  }
  // As everywhere: what is no number or too large a one is none, and nothing repeats without a pause.
  const wait = Math.max(every ? 1 : 0, delay > LONGEST ? 1 : Number(delay) || 0);
  last += 1;
  timers.set(last, { work, args, due: Date.now() + wait, every: every && wait });
  return last;
};

const clear = (id) => {
  timers.delete(id);
};

/** Waits for the next timer and runs it. False if there is none. */
function next() {
  if (timers.size === 0) {
    return false;
  }
  const [id, timer] = [...timers].reduce((first, one) => (one[1].due < first[1].due ? one : first));
  const left = timer.due - Date.now();
  if (left > 0) {
    host().sleep(left);
  }
  timers.delete(id);
  if (timer.every) {
    timers.set(id, { ...timer, due: Date.now() + timer.every });
  }
  timer.work(...timer.args);
  return true;
}

whenIdle(next);

define({
  setTimeout: (work, delay, ...args) => add(work, delay, args),
  setInterval: (work, delay, ...args) => add(work, delay, args, true),
  setImmediate: (work, ...args) => add(work, 0, args),
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clear,
});
