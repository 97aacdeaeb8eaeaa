// Questions to the client: its user, its model, its workspace.

import type { Piece, Role, kind } from "./content.js";
import type { MaybePromise, Returned } from "./plugin.js";
import type { Fields, Values } from "./schema.js";

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
