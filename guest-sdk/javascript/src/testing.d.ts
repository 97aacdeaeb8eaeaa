/** A fake host for tests that run natively. */

import type { AgentResult, Completion, Content, Context, Declined, Dismissed, Doubt, Message, Root, Tool, ToolOutcome, ToolResult } from "./index.js";
import type { Piece, Response } from "./index.js";

export const DECLINED: Declined;
export const DISMISSED: Dismissed;

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: [string, string][];
  readonly body: Uint8Array;
}
export { Response } from "./index.js";
/** The model asks for a tool; `input` is JSON text. */
export class ToolUse {
  constructor(id: string, name: string, input: string);
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly args: any;
  succeeded(...content: Piece[]): ToolOutcome;
  failed(why: unknown): ToolOutcome;
}
type Said = string | ToolUse;
export interface Answers {
  forms?: (object | Error)[];
  samples?: (Said | Said[] | Error)[];
  /** Answers to `openUrl` and `connect`. */
  pages?: (boolean | Error)[];
  roots?: Root[];
  /** Connected accounts, with what they answer; null: not connected yet. */
  connections?: Record<string, ((request: Request) => Response | Promise<Response>) | null>;
  /** Texts by path. */
  files?: Record<string, string>;
  env?: Record<string, string>;
  fuel?: number;
  agentTools?: Record<string, (args: any) => unknown>;
  http?: (request: Request) => Response | Promise<Response>;
  messages?: string[];
  context?: Partial<Context>;
  checkpoint?: unknown;
  values?: Record<string, string>;
}
export class Host {
  constructor(answers?: Answers);
  /** Calls a tool, as `tool` returned it or by its name. */
  call(tool: Tool | string, args?: object): Promise<ToolResult>;
  read(uri: string): Promise<{ uri: string; body: string | Uint8Array; mimeType?: string }[]>;
  prompt(name: string, args?: Record<string, string>): Promise<Message[]>;
  /** Suggestions for an argument of a prompt, or for a variable of a template. */
  complete(offer: string, argument: string, value: string, others?: Record<string, string>): Promise<Completion>;
  /** Asks what has become of an effect of a tool. */
  reconcile(tool: string, effect: Doubt["effect"], args?: object): Promise<any>;
  readonly chunks: Content[][];
  readonly chunkTexts: string[];
  readonly reports: { done: number; total?: number; message?: string }[];
  readonly records: { level: string; message: string }[];
  readonly asked: any[];
  readonly agentCalls: { name: string; args: any }[];
  readonly requests: Request[];
  readonly accountRequests: (Request & { readonly name: string })[];
  readonly resources: Record<string, any>;
  readonly prompts: Record<string, any>;
  readonly events: { name: string; payload: any }[];
  readonly files?: Record<string, string>;
  readonly saved: any[];
  readonly values: Record<string, string>;
  agentTools: Record<string, (args: any) => unknown | AgentResult>;
  http?: (request: Request) => Response | Promise<Response>;
  /** The call was cancelled: nobody reads its output any more. */
  closed: boolean;
}
