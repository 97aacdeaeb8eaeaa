// Values that a plugin keeps between calls.

import state from "portcullis:plugin/state@0.1.0";

import * as errors from "../errors.js";
import { provide } from "../host.js";
import { COMMON, kinds, made, orNull } from "./values.js";

const STATE = {
  ...COMMON,
  ...kinds(errors.StateError, {
    invalid: (why) => `it cannot be kept or read: ${why}`,
    conflict: () => "somebody else changed it meanwhile",
    failed: (why) => `nothing is kept: ${why}`,
  }),
};

provide({
  stateGet(key) {
    const found = made(() => state.get(key), STATE);
    return found ? { value: new Uint8Array(found.value), version: Number(found.version) } : undefined;
  },
  stateSet: (key, value) => Number(made(() => state.set(key, value), STATE)),
  stateSwap: (key, version, value) => Number(made(() => state.swap(key, orNull(version), value), STATE)),
  stateRemove: (key) => made(() => state.remove(key), STATE),
  stateKeys: (prefix, after) => made(() => state.keys(prefix, orNull(after)), STATE),
});
