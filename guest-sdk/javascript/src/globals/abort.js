// AbortController and AbortSignal. `AbortSignal.timeout` needs the timers.

import "./timers.js";

import { AbortController, AbortSignal } from "portcullis-tools/abortcontroller-polyfill/dist/cjs-ponyfill.js";

import { LONGEST } from "../host.js";
import { DUE } from "../http.js";
import { define } from "./define.js";

const { any, timeout } = AbortSignal;

define(
  {
    abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    },
    // No timer runs while a request is under way: the host ends it.
    timeout(time) {
      if (!(time >= 0 && time <= Number.MAX_SAFE_INTEGER)) {
        throw new TypeError(`AbortSignal.timeout takes milliseconds, not ${time}`);
      }
      return Object.assign(timeout.call(AbortSignal, Math.min(time, LONGEST)), { [DUE]: Date.now() + time });
    },
    any(signals) {
      const all = [...signals];
      return Object.assign(any.call(AbortSignal, all), { [DUE]: Math.min(...all.map((signal) => signal[DUE] ?? Infinity)) });
    },
  },
  AbortSignal,
);

define({ AbortController, AbortSignal });
