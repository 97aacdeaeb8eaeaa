// The operator's log.

import log from "portcullis:plugin/log@0.1.0";

import { provide } from "../host.js";

provide({ log: (level, message) => log.write(level, message) });
