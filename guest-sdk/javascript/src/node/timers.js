// Node's `timers`: the global ones.

import "../globals/timers.js";

export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = globalThis;
export default { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout };
