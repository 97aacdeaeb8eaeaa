// Values that a plugin keeps between calls, separately for each principal. A value is on the host's disk when `set` has returned.
// Calls run beside each other: use `update` when a new value depends on the old one.

import "#wit/state";

import { StateError } from "./errors.js";
import { host } from "./host.js";
import { decode, encode } from "./utf8.js";

// How often `update` tries again. Each time, another call has succeeded.
const ATTEMPTS = 32;

/** The value under a key, as text; undefined if there is none. */
export async function get(key) {
  const found = await entry(key);
  return found && decode(found.value);
}

/** The value, as bytes, with its version for `swap`. */
export const entry = async (key) => host().stateGet(key);

/** Stores text or bytes. Its version. */
export const set = async (key, value) => host().stateSet(key, bytes(value));

/** Stores a value if the one there has this version; undefined means that there must be none. */
export const swap = async (key, version, value) => host().stateSwap(key, version, bytes(value));

/** Removes a value. Whether there was one. */
export const remove = async (key) => host().stateRemove(key);

/** All keys that begin with `prefix`, in order. */
export async function keys(prefix = "") {
  const found = [];
  for (;;) {
    const page = host().stateKeys(prefix, found.at(-1));
    if (page.length === 0) {
      return found;
    }
    found.push(...page);
  }
}

/** The value under a key, read as JSON; undefined if there is none. */
export async function load(key) {
  const found = await get(key);
  return found === undefined ? undefined : read(found);
}

/** Stores a value as JSON. */
export const save = async (key, value) => {
  await set(key, written(value));
};

/**
 * Changes a value that is stored as JSON, safely beside other calls: `change` gets the value or undefined, and runs again when
 * another call was first. What was stored.
 */
export async function update(key, change) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await entry(key);
    const value = await change(found && read(decode(found.value)));
    try {
      await swap(key, found?.version, written(value));
      return value;
    } catch (error) {
      if (error.kind !== "conflict") {
        throw error;
      }
    }
  }
  throw new StateError("conflict", "somebody else changed it meanwhile");
}

const bytes = (value) => (typeof value === "string" ? encode(value) : value);

function read(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StateError("invalid", `it cannot be kept or read: what is kept is not what was expected: ${error.message}`);
  }
}

function written(value) {
  const text = JSON.stringify(value);
  if (text === undefined) {
    throw new StateError("invalid", "it cannot be kept or read: the value cannot be written as JSON");
  }
  return text;
}
