// Code mode: a model writes a program, and this plugin runs it. What a program may call, which calls its user must approve, and
// what it may use up is decided by the host: nothing here can be tricked into more.

import agentTools from "portcullis:plugin/agent-tools@0.1.0";
import meter from "portcullis:plugin/meter@0.1.0";
import output from "portcullis:plugin/output@0.1.0";
import clock from "wasi:clocks/monotonic-clock@0.2.12";
import { callTool, definitions } from "./src/tools.js";

const OPTIONS = { timeoutMs: null, purpose: null, chunks: false };

const host = {
  listTools: () => agentTools.listTools(),
  callMany: (calls) => agentTools.callMany(calls.map((call) => ({ ...call, options: OPTIONS }))),
  fuelLeft: () => Number(meter.fuelLeft() ?? 0),
  emit(words) {
    try {
      output.emit([{ data: { tag: "text", val: words }, annotations: null }]);
      return true;
    } catch {
      // Nobody reads any more, or so much is not sent: the result has the beginning.
      return false;
    }
  },
  sleep(milliseconds) {
    const ready = clock.subscribeDuration(Math.ceil(milliseconds * 1e6));
    ready.block();
    ready[Symbol.dispose]();
  },
};

export const tools = {
  listTools: () => definitions,
  callTool: (context, name, args) => callTool(name, JSON.parse(args), host),
};
