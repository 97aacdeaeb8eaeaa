// The real host: what componentize-qjs binds, in the words of this package. In WebAssembly only.

import checkpoint from "portcullis:plugin/checkpoint@0.1.0";
import log from "portcullis:plugin/log@0.1.0";
import meter from "portcullis:plugin/meter@0.1.0";
import output from "portcullis:plugin/output@0.1.0";
import progress from "portcullis:plugin/progress@0.1.0";
import state from "portcullis:plugin/state@0.1.0";
import steering from "portcullis:plugin/steering@0.1.0";

import * as errors from "./errors.js";
import { agentToolsHost } from "./wit-agent-tools.js";
import { clientHost } from "./wit-client.js";
import { leavingHost } from "./wit-leaving.js";
import { COMMON, kinds, made, orNothing, orNull, toContent } from "./wit-values.js";

const STATE = {
  ...COMMON,
  ...kinds(errors.StateError, {
    invalid: (why) => `it cannot be kept or read: ${why}`,
    conflict: () => "somebody else changed it meanwhile",
    failed: (why) => `nothing is kept: ${why}`,
  }),
};

const OUTPUT = {
  ...COMMON,
  closed: () => new errors.Cancelled(),
  invalid: (why) => new errors.OutputError(`the content cannot be sent: ${why}`),
};

const CHECKPOINT = {
  "not-opened": () => new errors.CheckpointError("a call must ask for what was saved before it saves"),
  "too-large": (limit) => new errors.CheckpointError(`a checkpoint has at most ${limit} bytes`),
};

export const witHost = ({ http, files, variables }) => ({
  emit: (content) => Number(made(() => output.emit(content.map(toContent)), OUTPUT)),
  progress: (done, total, message) => progress.report(done, orNull(total), orNull(message)),
  log: (level, message) => log.write(level, message),
  ...clientHost,
  ...agentToolsHost,
  ...leavingHost,
  fuelLeft() {
    const left = meter.fuelLeft();
    return left === null || left === undefined ? undefined : Number(left);
  },
  deadlineLeft: () => Number(meter.deadlineLeft()),
  stateGet(key) {
    const found = made(() => state.get(key), STATE);
    return found ? { value: new Uint8Array(found.value), version: Number(found.version) } : undefined;
  },
  stateSet: (key, value) => Number(made(() => state.set(key, value), STATE)),
  stateSwap: (key, version, value) => Number(made(() => state.swap(key, orNull(version), value), STATE)),
  stateRemove: (key) => made(() => state.remove(key), STATE),
  stateKeys: (prefix, after) => made(() => state.keys(prefix, orNull(after)), STATE),
  restored() {
    const found = checkpoint.restored();
    return found ? new Uint8Array(found) : undefined;
  },
  save: (bytes) => made(() => checkpoint.save(bytes), CHECKPOINT),
  nextMessage: () => orNothing(steering.next()),
  receive(timeout) {
    const { tag, val } = steering.receive(orNull(timeout));
    return tag === "message" ? { message: val } : tag === "ended" ? { ended: true } : { timedOut: true };
  },
  http,
  ...files,
  ...variables,
});
