// AbortController and AbortSignal. `AbortSignal.timeout` needs the timers.

import "./timers.js";

import { AbortController, AbortSignal } from "portcullis-tools/abortcontroller-polyfill/dist/cjs-ponyfill.js";

import { DUE } from "../http.js";
import { define } from "./define.js";

const { timeout } = AbortSignal;
// No timer runs while a request is under way: the host ends it.
AbortSignal.timeout = (time) => Object.assign(timeout.call(AbortSignal, time), { [DUE]: Date.now() + time });

define({ AbortController, AbortSignal });
