// Requests to other servers.

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
