// Finding out what has become of a request.
//
// When the host has ended after a tool began a request and before its answer was stored, nobody knows whether it has happened. One
// like GET is sent again; of others, the function given to `reconcile` is asked. Without one, or if it does not know, the call ends
// and says so. The function has at most ten seconds and what the plugin was granted, but can neither call tools nor ask the client.

import { PLUGIN } from "./plugin.js";

/** It has not happened: it is done now. */
export const NOT_DONE = Symbol("not done");

/** Sets the function that finds out. It gives the answer that there was, `NOT_DONE`, or undefined: unknown. */
export function reconcile(find) {
  if (typeof find !== "function") {
    throw new TypeError("reconcile takes a function");
  }
  if (PLUGIN.finder) {
    throw new TypeError("there is a function that finds out already");
  }
  PLUGIN.finder = find;
}
