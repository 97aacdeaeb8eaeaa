// Messages to the operator's log. The model does not see them. Never waits.

import "#wit/log";

import { host } from "./host.js";

export const write = (level, message) => host().log(level, String(message));
export const debug = (message) => write("debug", message);
export const info = (message) => write("info", message);
export const notice = (message) => write("notice", message);
export const warning = (message) => write("warning", message);
export const error = (message) => write("error", message);
