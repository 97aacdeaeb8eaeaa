// What a plugin offers.

import type { Content, Piece, Role, ToolResult } from "./content.js";
import type { Response } from "./http.js";
import type { Fields, Type, Values } from "./schema.js";

/** What a call is told of itself. */
export interface Context {
  readonly id: string;
  /** On whose behalf it runs. */
  readonly principal: string;
  readonly correlationId?: string;
  readonly idempotencyKey?: string;
  readonly deadlineMs: number;
  readonly traceparent?: string;
}

type MaybePromise<T> = T | Promise<T>;
type Nullable<T> = T extends object ? { [K in keyof T]: Nullable<T[K]> | (undefined extends T[K] ? null : never) } : T;
type Returned = string | void | null | Content | Content[] | ToolResult | number | boolean | object;

export interface Offer {
  name: string;
  title?: string;
  description: string;
}
export interface ToolAbout extends Offer {
  /** Hints for the client. */
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
  execution?: "inline" | "may-run-long" | "task-only";
}
export interface ToolOffer<Input extends Fields, Output> extends ToolAbout {
  /** The types of the arguments. */
  input?: Input;
  /** The type of a structured result. */
  output?: Type<Output>;
  run(args: Values<Input>, context: Context): MaybePromise<unknown extends Output ? Returned : Nullable<Output> | ToolResult>;
}
export interface Tool {
  readonly name: string;
}
export function tool<Input extends Fields = {}, Output = unknown>(offer: ToolOffer<Input, Output>): Tool;

export interface ResourceOffer extends Offer {
  uri: string;
  mimeType?: string;
  /** Text, bytes, or what is written as JSON. Undefined says that there is no such resource. */
  read(context: Context): MaybePromise<string | Uint8Array | Content | Content[] | object | undefined>;
}
export function resource(offer: ResourceOffer): void;

/** What was typed so far of an argument. */
export interface Typed {
  readonly value: string;
  /** The other arguments that are filled in. */
  readonly others: Record<string, string>;
  readonly context: Context;
  /** Those that begin as what was typed, whatever the case. */
  matching(candidates: readonly string[]): string[];
}
export interface Completion {
  values: string[];
  total?: number;
  hasMore?: boolean;
}
/** A list, or a function of what was typed; a client gets at most 100. */
export type Suggestions = readonly string[] | ((typed: Typed) => MaybePromise<string[] | Completion>);

export interface TemplateOffer extends Offer {
  /** Such as `guide://city/{name}`. */
  uriTemplate: string;
  mimeType?: string;
  /** Suggestions for variables. */
  complete?: Record<string, Suggestions>;
  read(
    variables: Record<string, string>,
    context: Context,
  ): MaybePromise<string | Uint8Array | Content | Content[] | object | undefined>;
}
export function resourceTemplate(offer: TemplateOffer): void;

export interface Message {
  readonly role: Role;
  readonly content: Content[];
}
export function user(...content: Piece[]): Message;
export function assistant(...content: Piece[]): Message;
export interface PromptOffer extends Offer {
  /** Descriptions of the arguments, or more. */
  args?: Record<string, string | { title?: string; description?: string; required?: boolean; complete?: Suggestions }>;
  get(args: Record<string, string>, context: Context): MaybePromise<Piece | Message | (Piece | Message)[]>;
}
export function prompt(offer: PromptOffer): void;

/** What is known of a request that was under way when the host ended. */
export interface Doubt {
  /** The tool, and its arguments. */
  readonly tool: string;
  readonly args: any;
  /** Undefined: anything else. Secrets in headers are names. */
  readonly effect?:
    | { readonly type: "http"; readonly method: string; readonly url: string; readonly headers: [string, string][] }
    | { readonly type: "agent-tool"; readonly name: string; readonly args: any };
  readonly step: string;
  readonly name: string;
  readonly context: Context;
}
/** It has not happened: it is done now. */
export const NOT_DONE: unique symbol;
/** Sets the function that finds out. It gives the answer that there was, `NOT_DONE`, or undefined: unknown. */
export function reconcile(find: (doubt: Doubt) => MaybePromise<Response | Returned | typeof NOT_DONE>): void;
