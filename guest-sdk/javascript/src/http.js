// `fetch` as browsers have it, as far as a plugin needs it: the host sends where the operator granted it. Write one of the operator's
// secrets by name into a header, as `{{secret:example}}`; the plugin never sees it. Redirects are followed if they are granted.

import "#wit/http";

import { host } from "./host.js";
import { outgoing } from "./http-message.js";

/**
 * Sends a request, which may be a Request, and reads the answer. `json` is a body that is written as JSON; `timeout` is in milliseconds; `maxBody` is how many
 * bytes of the answer are read.
 */
export async function fetch(request, options = {}) {
  const all = isRequest(request) ? await withOptions(request, options) : options;
  all.signal?.throwIfAborted();
  return host().http(outgoing(isRequest(request) ? request.url : request, all));
}

// Also one of Node, in tests.
const isRequest = (value) => typeof value?.url === "string" && typeof value.arrayBuffer === "function";

async function withOptions(request, options) {
  const { method, headers, signal } = request;
  const hasBody = options.body === undefined && options.json === undefined && !["GET", "HEAD"].includes(method);
  return { method, headers, signal, body: hasBody ? await request.arrayBuffer() : undefined, ...options };
}
