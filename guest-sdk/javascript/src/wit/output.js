// Chunks and progress.

import output from "portcullis:plugin/output@0.1.0";
import progress from "portcullis:plugin/progress@0.1.0";

import * as errors from "../errors.js";
import { provide } from "../host.js";
import { COMMON, made, orNull, toContent } from "./values.js";

const OUTPUT = {
  ...COMMON,
  closed: () => new errors.Cancelled(),
  invalid: (why) => new errors.OutputError(`the content cannot be sent: ${why}`),
};

provide({
  emit: (content) => Number(made(() => output.emit(content.map(toContent)), OUTPUT)),
  progress: (done, total, message) => progress.report(done, orNull(total), orNull(message)),
});
