/** One reverse call, as a tool and whoever approves see it. */
import { AsyncLocalStorage } from "node:async_hooks";

import { type JsonObject, isObject } from "./peer.js";

/** A server's tool wants one of ours called. */
export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Who calls, as the server's operator named it. */
  readonly plugin: string;
  /** Its tool that runs. */
  readonly tool: string;
  /** The id of the running call. */
  readonly parent: string;
  /** Why, in the plugin's own words: untrusted, to be shown as a stranger's. */
  readonly purpose: string | undefined;
  /** Milliseconds until the server has given up. */
  readonly timeout: number | undefined;
  /** Names the chain of calls; for requests to the same server only. */
  readonly chain: string | undefined;
  /** What the tool says of itself. */
  readonly readOnly: boolean;
  readonly private: boolean;
  /** Fires when nobody waits for the call any more. */
  readonly signal: AbortSignal;
}

/** Thrown by a tool to report a failure in its own words: a result with `isError`. */
export class ToolError extends Error {}

/** A call as the server describes it, in any lane. */
export interface WireCall {
  name: string;
  arguments: JsonObject;
  plugin: string;
  tool: string;
  parent: string;
  purpose: string | undefined;
  timeout: number | undefined;
  chain: string | undefined;
}

/** Reads a call; nothing when it is malformed. */
export function readCall(said: unknown): WireCall | undefined {
  if (!isObject(said) || typeof said.name !== "string") return undefined;
  const args = said.arguments ?? {};
  if (!isObject(args)) return undefined;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const { timeoutMs } = said;
  return {
    name: said.name,
    arguments: args,
    plugin: text(said.plugin) ?? "",
    tool: text(said.tool) ?? "",
    parent: text(said.parent) ?? "",
    purpose: text(said.purpose),
    timeout: typeof timeoutMs === "number" && timeoutMs >= 0 ? timeoutMs : undefined,
    chain: text(said.chain),
  };
}

/** The call that runs, and for whom: the chain of one server must not reach another. */
export const current = new AsyncLocalStorage<{ owner: object; call: Call }>();

/** The call that the running function serves; none outside of one. */
export function currentCall(): Call | undefined {
  return current.getStore()?.call;
}
