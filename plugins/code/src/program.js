// Runs one program: what it finds beside the language itself, and what becomes of it.

import { rewrite } from "./rewrite.js";
import { SyncPromise, unhandledErrors } from "./sync_promise.js";
import { Timers } from "./timers.js";
import { Console } from "./console.js";
import { Calls, toolsOf } from "./calls.js";

/// Lines that `new Function` puts before a program.
const LINES_BEFORE = 2;
/// Errors of promises that nothing waited for, in one report.
const MAX_UNHANDLED = 5;

/// Runs a program. `host` is what of the host it may use: `callMany`, `listTools`, `fuelLeft`, `emit` and `sleep`.
///
/// Returns `{ result, error, output, calls }`: of `result` and `error` there is one.
export function runProgram(code, host) {
  const lines = new Console(host.emit);
  const calls = new Calls(host);
  const timers = new Timers(host.sleep);
  const advance = () => calls.flush() || timers.next();
  const wait = (value) => (isThenable(value) ? SyncPromise.resolve(value).wait(advance) : value);
  const given = {
    $await: wait,
    $async: (run) => SyncPromise.try(run),
    $iterate: (values) => iterate(values, wait),
    Promise: SyncPromise,
    tools: toolsOf(calls),
    console: lines.console,
    setTimeout: timers.set,
    clearTimeout: timers.clear,
  };
  const ended = () => ({ output: lines.text(), calls: calls.summary() });
  try {
    const names = Object.keys(given);
    // In a block of its own, so that a program may declare what it finds here.
    const run = new Function(...names, `"use strict"; {${rewrite(code)}\n}`);
    const result = wait(run(...Object.values(given)));
    // What was begun and not waited for is done all the same.
    while (advance());
    for (const error of unhandledErrors().slice(0, MAX_UNHANDLED)) {
      lines.console.error(`nobody waited for: ${describe(error)}`);
    }
    return { result: plain(result), ...ended() };
  } catch (error) {
    return { error: failure(error), ...ended() };
  }
}

const isThenable = (value) => value !== null && typeof value === "object" && typeof value.then === "function";

function* iterate(values, wait) {
  const iterator = values[Symbol.asyncIterator]?.() ?? values[Symbol.iterator]();
  try {
    for (;;) {
      const { value, done } = wait(iterator.next());
      if (done) return;
      yield wait(value);
    }
  } finally {
    iterator.return?.();
  }
}

/// As JSON has it: a program's result leaves as JSON. The error says what cannot.
function plain(value) {
  if (value === undefined) return null;
  const text = JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return String(part);
    if (part instanceof Map) return Object.fromEntries(part);
    if (part instanceof Set) return [...part];
    if (part instanceof Error) return describe(part);
    return part;
  });
  if (text === undefined) throw new TypeError(`a ${typeof value} is no result: return what JSON can say`);
  return JSON.parse(text);
}

function describe(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/// An error as the model is shown it, with its line in the program.
function failure(error) {
  const found = /(?:<input>|<anonymous>):(\d+)/.exec(String(error?.stack ?? ""));
  const line = found ? Number(found[1]) - LINES_BEFORE : 0;
  return line > 0 ? `${describe(error)} (line ${line} of the program)` : describe(error);
}
