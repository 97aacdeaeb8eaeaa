// What the engine lacks and plugins expect, as global names. A component imports this before anything else.

import "#wit/log";

import { host } from "./host.js";
import { Promise } from "./promise.js";
import { decode, encode } from "./utf8.js";

class TextEncoder {
  encoding = "utf-8";

  encode(text = "") {
    return encode(String(text));
  }
}

class TextDecoder {
  encoding = "utf-8";

  constructor(encoding = "utf-8") {
    if (!["utf-8", "utf8"].includes(encoding.toLowerCase())) {
      throw new RangeError(`there is UTF-8 only, not ${encoding}`);
    }
  }

  decode(bytes = new Uint8Array()) {
    return decode(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes.buffer ?? bytes));
  }
}

const written = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));
const to =
  (level) =>
  (...values) =>
    host().log(level, values.map(written).join(" "));

/** The operator's log. */
const console = { debug: to("debug"), log: to("info"), info: to("info"), warn: to("warning"), error: to("error") };

const queueMicrotask = (work) => {
  Promise.resolve().then(work);
};

Object.assign(globalThis, { console, Promise, queueMicrotask, TextDecoder, TextEncoder });
