// Node's `timers/promises`, without its intervals.

import "../globals/timers.js";

export const setTimeout = (delay, value) => new Promise((resolve) => globalThis.setTimeout(resolve, delay, value));
export const setImmediate = (value) => setTimeout(0, value);
export const scheduler = { wait: (delay) => setTimeout(delay), yield: () => setImmediate() };
export default { scheduler, setImmediate, setTimeout };
