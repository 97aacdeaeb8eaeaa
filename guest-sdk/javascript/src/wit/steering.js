// Messages to the running call.

import steering from "portcullis:plugin/steering@0.1.0";

import { provide } from "../host.js";
import { orNothing, orNull } from "./values.js";

provide({
  nextMessage: () => orNothing(steering.next()),
  receive(timeout) {
    const { tag, val } = steering.receive(orNull(timeout));
    return tag === "message" ? { message: val } : tag === "ended" ? { ended: true } : { timedOut: true };
  },
});
