// While a tool runs: chunks, progress, its log, its budget, checkpoints, messages, files.

import type { Piece } from "./content.js";

/** Sends one chunk, of one piece of content or several. Its number, counted from 0. */
export function emit(...content: Piece[]): Promise<number>;
/** Reports that `done` of `total` is done, in any unit. `done` must grow. */
export function report(done: number, total?: number, message?: string): void;

export namespace meter {
  /** Undefined if the call is metered by CPU time. */
  function fuelLeft(): number | undefined;
  /** In milliseconds. */
  function deadlineLeft(): number;
}
export namespace files {
  function readText(path: string): Promise<string>;
  function read(path: string): Promise<Uint8Array>;
  function write(path: string, body: string | Uint8Array): Promise<void>;
  /** The names in a folder, sorted. */
  function list(path: string): Promise<string[]>;
  function remove(path: string): Promise<void>;
}
export namespace env {
  /** A variable; undefined if there is none, or it was not granted. */
  function get(name: string): string | undefined;
}
export namespace checkpoint {
  /** What was saved last, or undefined. Ask once, at the beginning. */
  function restored<State = any>(): Promise<State | undefined>;
  function save(state: unknown): Promise<void>;
}
export namespace log {
  type Level = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
  function write(level: Level, message: unknown): void;
  function debug(message: unknown): void;
  function info(message: unknown): void;
  function notice(message: unknown): void;
  function warning(message: unknown): void;
  function error(message: unknown): void;
}
export namespace steering {
  interface Received {
    readonly message?: string;
    readonly ended?: true;
    readonly timedOut?: true;
  }
  /** The next message, or undefined if there is none. */
  function next(): string | undefined;
  /** Waits for the next message, at most `timeout` milliseconds. */
  function receive(timeout?: number): Promise<Received>;
  /** All messages, until there will be no more. */
  function messages(): AsyncGenerator<string, void>;
}
