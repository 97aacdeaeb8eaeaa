/** What both SDKs have in common, so that neither is imported. */

export type JsonObject = Record<string, unknown>;

/** A client of either SDK. */
export interface ClientLike {
  request(request: never, schema: never, options?: never): Promise<unknown>;
  fallbackRequestHandler?: ((request: never, context: never) => Promise<unknown>) | undefined;
  fallbackNotificationHandler?: ((notification: never) => Promise<void>) | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal;
  timeout?: number;
}

export interface Message {
  method: string;
  params?: JsonObject;
}

type Answer = (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
type Hear = (params: JsonObject) => void;

interface RawClient {
  request(request: Message, schema: unknown, options?: RequestOptions): Promise<unknown>;
  fallbackRequestHandler?: ((request: Message, context: RawContext) => Promise<unknown>) | undefined;
  fallbackNotificationHandler?: ((notification: Message) => Promise<void>) | undefined;
}

/** Where each SDK keeps the signal of a request that the server may withdraw. */
interface RawContext {
  mcpReq?: { signal?: AbortSignal };
  signal?: AbortSignal;
}

/** JSON-RPC's words for "no such method" and "these parameters will not do". */
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

/** The longest time a timer of JavaScript can wait: 24 days. */
export const FOREVER = 2 ** 31 - 1;

/** A schema that takes anything, in the words of both SDKs: of Standard Schema and of zod 3. */
const anything = {
  "~standard": { version: 1, vendor: "portcullis", validate: (value: unknown) => ({ value }) },
  safeParse: (data: unknown) => ({ success: true, data }),
};

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sends a request of an extension. */
export async function request(client: ClientLike, method: string, params: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
  const result = await (client as unknown as RawClient).request({ method, params }, anything, options);
  return isObject(result) ? result : {};
}

/**
 * Answers requests of a method that the SDK does not know. Whoever was asked before still is, about all other methods.
 * The SDK's own registration differs between the two; this does not.
 */
export function answer(client: ClientLike, method: string, handler: Answer): void {
  const raw = client as unknown as RawClient;
  const before = raw.fallbackRequestHandler;
  raw.fallbackRequestHandler = async (asked, context) => {
    if (asked.method === method) {
      const signal = context.mcpReq?.signal ?? context.signal ?? new AbortController().signal;
      return handler(asked.params ?? {}, signal);
    }
    if (before) return before.call(client, asked, context);
    throw new RpcError(METHOD_NOT_FOUND, "Method not found");
  };
}

/** Hears notifications that the SDK does not know, in the same way. */
export function hear(client: ClientLike, handlers: Record<string, Hear>): void {
  const raw = client as unknown as RawClient;
  const before = raw.fallbackNotificationHandler;
  raw.fallbackNotificationHandler = async (notification) => {
    const handler = Object.hasOwn(handlers, notification.method) ? handlers[notification.method] : undefined;
    if (handler) handler(notification.params ?? {});
    else await before?.call(client, notification);
  };
}

/** An error that both SDKs send as it is. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: JsonObject,
  ) {
    super(message);
  }
}

/** The JSON-RPC code of an error that either SDK throws. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
