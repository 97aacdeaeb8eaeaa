// What the engine lacks and plugins expect, as global names. A component imports this before anything else.

import "#wit/log";

import { host } from "./host.js";
import { Promise } from "./promise.js";

const written = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));
const to =
  (level) =>
  (...values) =>
    host().log(level, values.map(written).join(" "));

/** The operator's log. */
const console = {
  debug: to("debug"),
  trace: to("debug"),
  log: to("info"),
  info: to("info"),
  dir: to("info"),
  warn: to("warning"),
  error: to("error"),
};

const queueMicrotask = (work) => {
  Promise.resolve().then(work);
};

Object.assign(globalThis, { console, Promise, queueMicrotask });
