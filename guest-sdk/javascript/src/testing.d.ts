/** A fake host for tests that run natively. */

import type { AgentResult, Content, Context, Declined, Dismissed, Message, Tool, ToolResult } from "./index.js";

export const DECLINED: Declined;
export const DISMISSED: Dismissed;

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: [string, string][];
  readonly body: Uint8Array;
}
export class Response {
  constructor(body?: string | Uint8Array, options?: { status?: number; headers?: [string, string][] });
}
export interface Answers {
  forms?: (object | Error)[];
  samples?: (string | Error)[];
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
  readonly chunks: Content[][];
  readonly chunkTexts: string[];
  readonly reports: { done: number; total?: number; message?: string }[];
  readonly records: { level: string; message: string }[];
  readonly asked: any[];
  readonly agentCalls: { name: string; args: any }[];
  readonly requests: Request[];
  readonly saved: any[];
  readonly values: Record<string, string>;
  agentTools: Record<string, (args: any) => unknown | AgentResult>;
  http?: (request: Request) => Response | Promise<Response>;
  /** The call was cancelled: nobody reads its output any more. */
  closed: boolean;
}
