// Tools of the agent, accounts, kept values, and what a call leaves behind.

import type { Content, Role } from "./content.js";
import type { Response } from "./http.js";
import type { Message } from "./plugin.js";

export interface AgentResult {
  readonly content: Content[];
  readonly structured?: string;
  /** Who answered: `client`, `model`, `user`, or `component` or `upstream` with a colon and its name. */
  readonly origin: string;
  /** It must not be passed on. */
  readonly private: boolean;
  readonly edited?: string;
}
export interface CallOptions {
  /** In milliseconds. */
  timeout?: number;
  purpose?: string;
  /** Forward what the tool emits. */
  chunks?: boolean;
}
export namespace agentTools {
  /** Calls a tool and waits for its result: the structured content, or else the text, as JSON where it is JSON. */
  function call(name: string, args?: object, options?: CallOptions): Promise<any>;
  function callRaw(name: string, args?: object, options?: CallOptions): Promise<AgentResult>;
  function names(): Promise<string[]>;
  interface Call extends CallOptions {
    name: string;
    args?: object;
  }
  /** Makes several calls at once, and waits for all. A failed one does not stop the others; its error is thrown in the end. */
  function callMany(calls: Call[], options?: { settled?: false }): Promise<any[]>;
  /** Each value is as in `Promise.allSettled`. */
  function callMany(calls: Call[], options: { settled: true }): Promise<PromiseSettledResult<any>[]>;
}
export namespace publish {
  /** Creates or replaces a resource. Its URI. `ttl` is in milliseconds. */
  function put(
    path: string,
    body: string | Uint8Array,
    about?: { title?: string; description?: string; mimeType?: string; audience?: Role | Role[]; priority?: number; ttl?: number },
  ): Promise<string>;
  /** Adds to a resource of the same kind, or creates one. Its URI. */
  function append(path: string, body: string | Uint8Array): Promise<string>;
  function remove(path: string): Promise<void>;
  /** Creates or replaces a prompt of texts; `{{name}}` in them stands for the value of an argument. */
  function putPrompt(
    name: string,
    messages: string | Message | (string | Message)[],
    about?: { args?: string[]; title?: string; description?: string; ttl?: number },
  ): Promise<void>;
  function removePrompt(name: string): Promise<void>;
}
export namespace events {
  /** Adds an event; with the key `once`, not again within a day. Whether it was added. */
  function emit(name: string, payload?: unknown, options?: { once?: string }): Promise<boolean>;
}
export interface AccountOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  headers?: Record<string, string> | [string, string][];
  body?: string | Uint8Array;
  json?: unknown;
}
export namespace connections {
  function connected(name: string): Promise<boolean>;
  /** Sends a request with the account's credentials, which the host adds. Redirects are not followed. */
  function fetch(name: string, path: string, options?: AccountOptions): Promise<Response>;
}
export namespace state {
  interface Entry {
    readonly value: Uint8Array;
    readonly version: number;
  }
  function get(key: string): Promise<string | undefined>;
  function entry(key: string): Promise<Entry | undefined>;
  function set(key: string, value: string | Uint8Array): Promise<number>;
  function swap(key: string, version: number | undefined, value: string | Uint8Array): Promise<number>;
  function remove(key: string): Promise<boolean>;
  function keys(prefix?: string): Promise<string[]>;
  function load<T = any>(key: string): Promise<T | undefined>;
  function save(key: string, value: unknown): Promise<void>;
  /** Changes a value, safely beside other calls: `change` may run again. */
  function update(key: string, change: (value: any) => unknown): Promise<any>;
  function update<T>(key: string, change: (value: T | undefined) => T | Promise<T>): Promise<T>;
}
