// Checkpoints of a long call.

import checkpoint from "portcullis:plugin/checkpoint@0.1.0";

import { CheckpointError } from "../errors.js";
import { provide } from "../host.js";
import { made } from "./values.js";

const CHECKPOINT = {
  "not-opened": () => new CheckpointError("a call must ask for what was saved before it saves"),
  "too-large": (limit) => new CheckpointError(`a checkpoint has at most ${limit} bytes`),
};

provide({
  restored() {
    const found = checkpoint.restored();
    return found ? new Uint8Array(found) : undefined;
  },
  save: (bytes) => made(() => checkpoint.save(bytes), CHECKPOINT),
});
