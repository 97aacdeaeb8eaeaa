// Requests to other servers.

/** Text, bytes, a form, a blob, or URLSearchParams. */
export type Body = string | Uint8Array | ArrayBuffer | object;

export class Response {
  constructor(body?: Body | null, options?: { status?: number; statusText?: string; headers?: Record<string, string> | [string, string][] });
  static json(value: unknown, options?: { status?: number }): Response;
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  /** In order of their names; several values of one name are joined by `, `, but not cookies. */
  readonly headers: Iterable<[string, string]> & {
    get(name: string): string | null;
    has(name: string): boolean;
    entries(): IterableIterator<[string, string]>;
    getSetCookie(): string[];
  };
  /** Whether the body was cut at `maxBody`. */
  readonly truncated: boolean;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
  json(): Promise<any>;
  clone(): Response;
  /** The response itself, if its status is a success. */
  throwForStatus(): Response;
}
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string> | [string, string][];
  body?: Body | null;
  /** A body that is written as JSON. */
  json?: unknown;
  /** Looked at before the request is sent. That of `AbortSignal.timeout` ends it, too, if `timeout` does not before. */
  signal?: { throwIfAborted(): void };
  /** In milliseconds. */
  timeout?: number;
  /** How many bytes of the answer are read; 4 MiB by default. */
  maxBody?: number;
}
/** Sends a request and reads the answer, which may have any status. */
export function fetch(request: string | { readonly href: string } | { readonly url: string; readonly method: string }, options?: FetchOptions): Promise<Response>;
