// Messages of the user or the agent to a call that is already running. They are untrusted text.

import "#wit/steering";

import { host } from "./host.js";

/** The next message, or undefined if there is none. Never waits. */
export const next = () => host().nextMessage();

/**
 * Waits for the next message, at most `timeout` milliseconds; without a timeout, as long as the call may take. A task that waits
 * without one may be suspended meanwhile. `{ message }`, `{ ended: true }` when there will be no more, or `{ timedOut: true }`.
 */
export const receive = async (timeout) => host().receive(timeout);

/** All messages, until there will be no more. */
export async function* messages() {
  for (;;) {
    const received = await receive();
    if (received.message === undefined) {
      return;
    }
    yield received.message;
  }
}
