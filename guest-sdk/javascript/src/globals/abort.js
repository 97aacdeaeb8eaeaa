// AbortController and AbortSignal. `AbortSignal.timeout` needs the timers.

import "./timers.js";

import { AbortController, AbortSignal } from "portcullis-tools/abortcontroller-polyfill/dist/cjs-ponyfill.js";

import { define } from "./define.js";

define({ AbortController, AbortSignal });
