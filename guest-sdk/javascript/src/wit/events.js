// Events for the principal's inbox.

import events from "portcullis:plugin/events@0.1.0";

import { EventError } from "../errors.js";
import { provide } from "../host.js";
import { COMMON, kinds, made, orNull } from "./values.js";

const EVENT = { ...COMMON, ...kinds(EventError, { invalid: (why) => `the event cannot be sent: ${why}` }) };

provide({ emitEvent: (name, payload, once) => made(() => events.emit(name, payload, orNull(once)), EVENT) });
