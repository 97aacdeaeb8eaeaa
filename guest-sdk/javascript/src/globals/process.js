// process, as far as packages look at it. `versions` has no `node`, so that none takes this for Node.

import { get } from "../env.js";
import { isLoaded } from "../host.js";
import { Promise } from "../promise.js";
import { define } from "./define.js";

/** The variables that were granted, and what the plugin sets itself. While the plugin is loaded, there are none yet. */
const env = new Proxy(
  { NODE_ENV: "production" },
  { get: (own, name) => (Reflect.has(own, name) || typeof name === "symbol" || !isLoaded() ? own[name] : get(name)) },
);

const ignore = () => process;
const to = (write) => ({ isTTY: false, write: (text) => (write(String(text).trimEnd()), true) });

function hrtime(since = [0, 0]) {
  const now = hrtime.bigint() - BigInt(since[0]) * 1_000_000_000n - BigInt(since[1]);
  return [Number(now / 1_000_000_000n), Number(now % 1_000_000_000n)];
}
hrtime.bigint = () => BigInt(Math.round(performance.now() * 1e6));

export const process = {
  title: "portcullis",
  browser: true,
  platform: "browser",
  arch: "wasm32",
  pid: 1,
  argv: [],
  execArgv: [],
  version: "",
  versions: {},
  env,
  stdout: to((text) => console.log(text)),
  stderr: to((text) => console.warn(text)),
  hrtime,
  cwd: () => "/",
  uptime: () => performance.now() / 1000,
  nextTick(work, ...args) {
    Promise.resolve().then(() => work(...args));
  },
  emitWarning: (warning) => console.warn(warning?.message ?? warning),
  exit() {
    throw new Error("process.exit: a tool returns or throws to end its call");
  },
  // Nothing is ever signalled.
  on: ignore,
  once: ignore,
  off: ignore,
  addListener: ignore,
  removeListener: ignore,
  removeAllListeners: ignore,
  emit: () => false,
  listeners: () => [],
  listenerCount: () => 0,
};

define({ process });
