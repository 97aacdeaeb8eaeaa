// `fetch` as browsers have it, as far as a plugin needs it: the host sends where the operator granted it. Write one of the operator's
// secrets by name into a header, as `{{secret:example}}`; the plugin never sees it. Redirects are followed if they are granted.

import "#wit/http";

import { host, LONGEST } from "./host.js";
import { outgoing } from "./http-message.js";

/** When a signal ends what it is given to, if that is known before. */
export const DUE = Symbol.for("portcullis.due");

/**
 * Sends a request, which may be a Request, and reads the answer. `json` is a body that is written as JSON; `timeout` is in milliseconds;
 * `maxBody` is how many bytes of the answer are read.
 */
export async function fetch(request, options = {}) {
  const all = isRequest(request) ? await withOptions(request, options) : options;
  all.signal?.throwIfAborted();
  const left = Math.min(all.timeout ?? LONGEST, (all.signal?.[DUE] ?? Infinity) - Date.now());
  const timeout = left < LONGEST ? Math.max(1, left) : undefined;
  return host().http(outgoing(isRequest(request) ? request.url : request, { ...all, timeout }));
}

// Also one of Node, in tests.
const isRequest = (value) => typeof value?.url === "string" && typeof value.arrayBuffer === "function";

async function withOptions(request, options) {
  const { method, headers, signal } = request;
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const hasBody = !("body" in given) && !("json" in given) && !["GET", "HEAD"].includes(method);
  return { method, headers, signal, body: hasBody ? await request.arrayBuffer() : undefined, ...given };
}
