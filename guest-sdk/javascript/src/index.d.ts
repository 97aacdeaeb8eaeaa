/** Write Portcullis plugins in TypeScript: plain functions become MCP tools. See ../README.md. */

export type Role = "user" | "assistant";

export interface Hints {
  audience?: Role | Role[];
  /** From 0.0 to 1.0. */
  priority?: number;
  lastModified?: string;
}

declare const kind: unique symbol;
/** A piece of content, as `text` and the like make it. */
export interface Content {
  readonly [kind]?: "content";
  readonly type: "text" | "image" | "audio" | "link" | "embedded";
}
export type Piece = string | Content;
export interface About extends Hints {
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

export function text(words: string, hints?: Hints): Content;
export function image(data: Uint8Array, mimeType: string, hints?: Hints): Content;
export function audio(data: Uint8Array, mimeType: string, hints?: Hints): Content;
/** A reference to a resource that the client may read. */
export function link(uri: string, name: string, about?: About): Content;
/** A resource with its content. */
export function embedded(uri: string, body: string | Uint8Array, about?: { mimeType?: string } & Hints): Content;
/** A result in full. */
export interface ToolResult {
  readonly content: Content[];
  /** JSON text. */
  readonly structured?: string;
  readonly isError: boolean;
  /** All texts of the content, joined by newlines. */
  readonly text: string;
}
/** A failure that the tool itself reports, with content of any kind. */
export function failure(...content: Piece[]): ToolResult;

/** The tool failed. The message is a sentence for the model. */
export class ToolError extends Error {}
/** The arguments match the schema but are not valid. */
export class InvalidArguments extends ToolError {}
/** The call was cancelled. Clean up and let it pass. */
export class Cancelled extends ToolError {
  constructor();
}
/** Something was not granted, and was not done. */
export class Denied extends ToolError {
  constructor(capability: string, target: string, remedy?: string);
  readonly capability: string;
  readonly target: string;
  readonly remedy: string;
}
/** A limit of the call was reached. */
export class Exhausted extends ToolError {
  constructor(budget: string, limit: number);
  readonly budget: string;
  readonly limit: number;
}
/** The tool needs something that this host or client does not offer. */
export class Unsupported extends ToolError {
  readonly what: string;
}
/** There is no such resource. */
export class NotFound extends ToolError {
  constructor();
}
/** The user said no. */
export class Declined extends ToolError {}
/** The user closed the question without an answer. The call goes on. */
export class Dismissed extends ToolError {
  constructor();
}
declare class Kinded<Kind extends string> extends ToolError {
  constructor(kind: Kind, message: string);
  readonly kind: Kind;
}
export class ClientError extends Kinded<"invalid" | "declined" | "not-answered" | "timeout" | "failed" | "unexpected-answer"> {}
export class AgentError extends Kinded<
  "unknown-tool" | "declined" | "cycle" | "timeout" | "invalid-arguments" | "tool-error" | "failed"
> {}
export class StateError extends Kinded<"invalid" | "conflict" | "failed"> {}
export class HttpError extends Kinded<"invalid" | "timeout" | "exhausted" | "failed" | "status" | "unexpected-response"> {}
export class PublishError extends Kinded<"invalid" | "not-found"> {}
export class EventError extends Kinded<"invalid"> {}
export class AccountError extends Kinded<"not-connected" | "invalid" | "timeout" | "failed"> {}
/** The kind is that of `wasi:filesystem`, such as `no-entry`. */
export class FileError extends Kinded<string> {}
export class CheckpointError extends ToolError {}
export class OutputError extends ToolError {}

/** The type of a value, with its JSON Schema. */
export interface Type<Value, Plain = Value> {
  readonly [kind]?: [Value, Plain];
  describe(description: string): this;
  /** What people see in place of a field's name. */
  title(title: string): this;
  /** It may be left out, or null: then it is undefined. */
  optional(): Type<Plain | undefined, Plain>;
  /** It may be left out: then it is this value. */
  default(value: Plain): Type<Plain, Plain>;
}
export interface Sized<Value> extends Type<Value> {
  /** The length of a text, or the number of items in a list. */
  length(min?: number, max?: number): this;
  format(name: "email" | "uri" | "date" | "date-time"): this;
}
export interface Numeric extends Type<number> {
  /** Bounds, both included. */
  range(min?: number, max?: number): this;
}
export type Fields = Record<string, Type<any, any>>;
/** The value that a type describes. */
export type Value<T> = T extends Type<infer V, any> ? V : never;
/** The values that fields describe. */
export type Values<F extends Fields> = { [Name in keyof F]: Value<F[Name]> };

export const t: {
  string(description?: string): Sized<string>;
  integer(description?: string): Numeric;
  number(description?: string): Numeric;
  boolean(description?: string): Type<boolean>;
  enum<const Words extends readonly string[]>(words: Words, description?: string): Type<Words[number]>;
  array<V>(items: Type<V, any>, description?: string): Sized<V[]>;
  record<V>(values: Type<V, any>, description?: string): Type<Record<string, V>>;
  object<F extends Fields>(fields: F, description?: string): Type<Values<F>>;
  any(description?: string): Type<any>;
};

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
export interface ToolOffer<Input extends Fields, Output> extends Offer {
  /** Hints for the client. */
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
  execution?: "inline" | "may-run-long" | "task-only";
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

/** Sends one chunk, of one piece of content or several. Its number, counted from 0. */
export function emit(...content: Piece[]): Promise<number>;
/** Reports that `done` of `total` is done, in any unit. `done` must grow. */
export function report(done: number, total?: number, message?: string): void;

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

/** Asks the user to fill in a form, and gives its values. Throws Declined or Dismissed if the user does not. */
export function ask<F extends Fields>(message: string, fields: F, options?: { key?: string }): Promise<Values<F>>;
/** Asks the user for a yes. Anything else is a no, which ends the tool if `orStop`. */
export function confirm(message: string, options?: { key?: string; orStop?: boolean }): Promise<boolean>;
export interface SampleOptions {
  systemPrompt?: string;
  /** 1,000 by default. */
  maxTokens?: number;
  temperature?: number;
  stop?: string[];
  /** Names or parts of names, best first. */
  models?: string[];
  purpose?: string;
  /** How much each counts, from 0.0 to 1.0. */
  cost?: number;
  speed?: number;
  intelligence?: number;
  /** What the model may ask for. */
  tools?: SampleTool[];
  toolChoice?: "auto" | "required" | "none";
  key?: string;
}
export interface SampleTool {
  readonly name: string;
}
/** A tool that the model may ask for. Without `run`, its uses are answered by hand. */
export function sampleTool<Input extends Fields = {}>(offer: {
  name: string;
  description?: string;
  input?: Input;
  run?(args: Values<Input>): MaybePromise<Returned>;
}): SampleTool;
export interface ToolOutcome {
  readonly type: "tool-outcome";
}
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** JSON text, which the model may have got wrong. */
  readonly input: string;
  readonly args: any;
  succeeded(...content: Piece[]): ToolOutcome;
  /** The model is told why. */
  failed(why: unknown): ToolOutcome;
}
export interface SampleMessage {
  readonly role: Role;
  readonly content: readonly unknown[];
}
export interface SampleAnswer {
  readonly content: readonly unknown[];
  readonly text: string;
  readonly model: string;
  readonly stopReason?: string;
  /** The tools that the model asks for; empty when it has answered. */
  readonly toolUses: ToolUse[];
  /** The answer as a message of the conversation that goes on. */
  readonly message: SampleMessage;
  /** Runs the tools that the model asks for. The message tells it what came of them, failures too. */
  runTools(): Promise<SampleMessage>;
}
type Talk = Piece | SampleMessage | (Piece | SampleMessage)[];
/** Asks the user to open a page. Throws Declined or Dismissed if the user does not agree. */
export function openUrl(message: string, address: string, options?: { key?: string }): Promise<void>;
/** Asks the user to connect an account. Throws Declined or Dismissed if the user does not. */
export function connect(message: string, connection: string, options?: { key?: string }): Promise<void>;
export interface Root {
  readonly uri: string;
  readonly name?: string;
}
/** The folders or repositories that the client's user works in. */
export function roots(options?: { key?: string }): Promise<Root[]>;
/** The kinds of questions that the client of this call can answer. */
export function supported(): { form: boolean; url: boolean; sample: boolean; sampleTools: boolean; roots: boolean };

/** A question that has not been asked yet. */
export interface Question<Answer> {
  readonly [kind]?: Answer;
  readonly key?: string;
}
export namespace questions {
  function ask<F extends Fields>(message: string, fields: F, options?: { key?: string }): Question<Values<F>>;
  function confirm(message: string, options?: { key?: string; orStop?: boolean }): Question<boolean>;
  function openUrl(message: string, address: string, options?: { key?: string }): Question<void>;
  function connect(message: string, connection: string, options?: { key?: string }): Question<void>;
  function sample(messages: Talk, options?: SampleOptions): Question<SampleAnswer>;
  function roots(options?: { key?: string }): Question<Root[]>;
}
type Answers<Q extends readonly Question<any>[]> = { -readonly [At in keyof Q]: Q[At] extends Question<infer A> ? A : never };
type Settled<Q extends readonly Question<any>[]> = { -readonly [At in keyof Q]: Q[At] extends Question<infer A> ? PromiseSettledResult<A> : never };
/** Asks several questions at once. Throws Declined or Dismissed if a form or a page was not accepted. */
export function askMany<const Q extends readonly Question<any>[]>(questions: Q, options?: { settled?: false }): Promise<Answers<Q>>;
/** Each answer is as in `Promise.allSettled`. */
export function askMany<const Q extends readonly Question<any>[]>(questions: Q, options: { settled: true }): Promise<Settled<Q>>;

/** Asks the client's model to go on from a message or several. */
export function sample(messages: Talk, options?: SampleOptions): Promise<SampleAnswer>;

export class Response {
  constructor(body?: string | Uint8Array, options?: { status?: number; headers?: Record<string, string> | [string, string][] });
  readonly status: number;
  readonly ok: boolean;
  readonly url: string;
  readonly headers: { get(name: string): string | null; has(name: string): boolean; entries(): IterableIterator<[string, string]> };
  /** Whether the body was cut at `maxBody`. */
  readonly truncated: boolean;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
  json(): Promise<any>;
  /** The response itself, if its status is a success. */
  throwForStatus(): Response;
}
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string> | [string, string][];
  body?: string | Uint8Array;
  /** A body that is written as JSON. */
  json?: unknown;
  /** In milliseconds. */
  timeout?: number;
  /** How many bytes of the answer are read; 4 MiB by default. */
  maxBody?: number;
}
/** Sends a request and reads the answer, which may have any status. */
export function fetch(url: string, options?: FetchOptions): Promise<Response>;

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
