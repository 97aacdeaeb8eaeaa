// Calls of tools. A call waits until something waits for it, so those of one `Promise.all` are made together.

import { declare } from "./declarations.js";
import { SyncPromise } from "./sync_promise.js";

/// Calls in one request to the host. Bounds what is gathered before any is made.
const TOGETHER = 64;
/// Tools with which the summary names calls; the others are counted together.
const MAX_NAMED = 100;

/// Thrown when a call gives no result. `code` says why: `denied`, `declined`, `invalid-arguments`, `tool-error` and others.
export class ToolError extends Error {
  constructor(tool, code, message, more = {}) {
    super(`${tool}: ${message}`);
    this.name = "ToolError";
    this.tool = tool;
    this.code = code;
    Object.assign(this, more);
  }
}

export class Calls {
  #host;
  #waiting = [];
  #tools;
  #made = new Map();

  constructor(host) {
    this.#host = host;
  }

  /// Prepares a call.
  begin(name, args) {
    const tool = toolName(name);
    if (args !== undefined && (args === null || typeof args !== "object" || Array.isArray(args))) {
      throw new TypeError(`${tool} takes one object with its arguments`);
    }
    if (this.#waiting.length >= TOGETHER) this.flush();
    return new SyncPromise((resolve, reject) => {
      this.#waiting.push({ name: tool, arguments: JSON.stringify(args ?? {}), resolve, reject });
    });
  }

  /// Makes the calls that wait; false if there are none.
  flush() {
    const calls = this.#waiting.splice(0);
    if (calls.length === 0) return false;
    const before = this.#host.fuelLeft();
    const results = this.#host.callMany(calls.map(({ name, arguments: args }) => ({ name, arguments: args })));
    const used = before - this.#host.fuelLeft();
    calls.forEach((call, at) => {
      const result = results[at];
      const code = result.tag === "ok" ? "ok" : result.val.tag;
      // Of calls that were made together, the cost is known together only; it is shared out evenly.
      this.#count(call.name, code, Math.round(used / calls.length));
      if (result.tag === "ok") {
        call.resolve(valueOf(result.val));
      } else {
        call.reject(this.#error(call.name, result.val));
      }
    });
    return true;
  }

  #count(tool, outcome, fuel) {
    const named = this.#made.size < MAX_NAMED || this.#made.has(`${tool} ${outcome}`);
    const key = named ? `${tool} ${outcome}` : "";
    const made = this.#made.get(key) ?? { tool: named ? tool : "(others)", outcome: named ? outcome : "any", times: 0, fuel: 0 };
    made.times += 1;
    made.fuel += fuel;
    this.#made.set(key, made);
  }

  #error(name, { tag, val }) {
    switch (tag) {
      case "tool-error":
        return new ToolError(name, tag, textOf(val.content), { result: valueOf(val) });
      case "invalid-arguments": {
        const tool = this.#find(name);
        const expected = tool ? `\nIt is declared as:\n${declare(tool)}` : "";
        return new ToolError(name, tag, `${val}${expected}`, tool ? { schema: JSON.parse(tool.inputSchema) } : {});
      }
      case "unknown-tool":
      case "not-supported":
        // A client that declares no tools of its own is named in the place of a tool that is not there.
        return new ToolError(name, tag, this.#find(name) ? String(val) : "there is no such tool; `search_tools` finds those there are");
      case "denied":
        return new ToolError(name, tag, `${val.capability} \`${val.target}\` is not granted. Ask the user, who alone can allow it`);
      case "timeout":
        return new ToolError(name, tag, `no answer within ${val} ms`);
      case "exhausted":
        return new ToolError(name, tag, `the limit on ${val.budget} is reached: ${val.limit}`);
      case "cancelled":
        return new ToolError(name, tag, "the call was cancelled");
      case "cycle":
        return new ToolError(name, tag, "this tool is running already, further up");
      default:
        return new ToolError(name, tag, String(val));
    }
  }

  #find(name) {
    this.#tools ??= this.#host.listTools();
    return this.#tools.find((tool) => tool.name === name);
  }

  /// The calls so far, by tool and outcome.
  summary() {
    return [...this.#made.values()];
  }
}

/// `tools`: `tools.notes.add(args)` calls `notes.add`; so does `tools["notes.add"](args)`.
export function toolsOf(calls) {
  const path = (name) =>
    new Proxy(() => {}, {
      // A path is no promise: `await tools.notes` is not a call.
      get: (_, key) => (typeof key === "symbol" || (key === "then" && name !== "") ? undefined : path(name ? `${name}.${key}` : key)),
      apply: (_, __, [args]) => calls.begin(name, args),
    });
  return path("");
}

/// Clients see `notes__add` where a program calls `notes.add`; both are meant.
function toolName(name) {
  return name.includes(".") ? name : name.replace("__", ".");
}

/// The structured result, or else the text, or else the content.
function valueOf({ content, structured }) {
  if (structured !== null && structured !== undefined) return JSON.parse(structured);
  const isText = content.every((part) => part.data.tag === "text");
  return isText ? textOf(content) : content.map((part) => ({ type: part.data.tag, value: part.data.val }));
}

function textOf(content) {
  return content.map((part) => (part.data.tag === "text" ? part.data.val : `[${part.data.tag}]`)).join("\n");
}
