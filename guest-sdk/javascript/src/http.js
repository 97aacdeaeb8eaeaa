// `fetch` as browsers have it, as far as a plugin needs it: the host sends where the operator granted it. Write one of the operator's
// secrets by name into a header, as `{{secret:example}}`; the plugin never sees it. Redirects are followed if they are granted.

import "#wit/http";

import { host } from "./host.js";
import { outgoing } from "./http-message.js";

/**
 * Sends a request and reads the answer. `json` is a body that is written as JSON; `timeout` is in milliseconds; `maxBody` is how many
 * bytes of the answer are read.
 */
export async function fetch(url, options = {}) {
  return host().http(outgoing(url, options));
}
