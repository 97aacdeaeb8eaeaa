// Events for the principal of the call, kept in an inbox that clients read and watch. The manifest requests them,
// `"events": ["policy.*"]`, and the operator grants them.

import "#wit/events";

import { EventError } from "./errors.js";
import { host } from "./host.js";

/**
 * Adds an event. `name` are words with dots between them, such as `policy.effective`; `payload` is written as JSON. With the key `once`,
 * it is not added again within a day. Whether it was added.
 */
export async function emit(name, payload = null, { once } = {}) {
  const text = JSON.stringify(payload);
  if (text === undefined) {
    throw new EventError("invalid", "the event cannot be sent: the payload cannot be written as JSON");
  }
  return host().emitEvent(name, text, once);
}
