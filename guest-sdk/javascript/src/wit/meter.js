// What is left to the call.

import meter from "portcullis:plugin/meter@0.1.0";

import { provide } from "../host.js";

provide({
  fuelLeft() {
    const left = meter.fuelLeft();
    return left === null || left === undefined ? undefined : Number(left);
  },
  deadlineLeft: () => Number(meter.deadlineLeft()),
});
