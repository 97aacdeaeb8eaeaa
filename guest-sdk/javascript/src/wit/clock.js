// Sleep, for timers. In the component of a plugin that mentions them only.

import clock from "wasi:clocks/monotonic-clock@0.2.12";

import { provide } from "../host.js";

provide({
  /** In milliseconds. */
  sleep(time) {
    const due = clock.subscribeDuration(Math.ceil(time * 1e6));
    due.block();
    due[Symbol.dispose]();
  },
});
