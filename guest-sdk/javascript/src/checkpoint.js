// Checkpoints of a long call, which go on with it in another process. Ask `restored` once, at the beginning. What follows a
// `save` must depend on nothing but the saved state: a loop is the natural form.

import "#wit/checkpoint";

import { CheckpointError } from "./errors.js";
import { host } from "./host.js";
import { decode, encode } from "./utf8.js";

/** What was saved last, or undefined. */
export async function restored() {
  const state = host().restored();
  try {
    return state && JSON.parse(decode(state));
  } catch (error) {
    throw new CheckpointError(`what was saved is not what was expected: ${error.message}`);
  }
}

/** Saves a state as JSON, in the place of the last one. */
export async function save(state) {
  const text = JSON.stringify(state);
  if (text === undefined) {
    throw new CheckpointError("the state cannot be written as JSON");
  }
  host().save(encode(text));
}
