// Node's `process`: the global one.

import { process } from "../../globals/process.js";

export default process;
export const { argv, browser, cwd, emitWarning, env, exit, hrtime, nextTick, platform, stderr, stdout, version, versions } = process;
