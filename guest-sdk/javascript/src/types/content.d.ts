// Content, and what tools give back.

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
