// Output and progress while a call is still running.

import "#wit/output";

import { piece } from "./content.js";
import { host } from "./host.js";

/**
 * Sends one chunk, of one piece of content or several. Its number, counted from 0. Waits while the reader is slower. Chunks show
 * work in progress; the result must be complete without them.
 */
export const emit = async (...content) => host().emit(content.map(piece));

/** Reports that `done` of `total` is done, in any unit. `done` must grow; never waits. */
export const report = (done, total, message) => host().progress(done, total, message);
