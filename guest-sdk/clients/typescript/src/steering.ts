/** The extension `dev.portcullis/steering`: a word to a call that is already running. */
import { type ClientLike, type RequestOptions, request } from "./peer.js";

export interface SteerOptions extends RequestOptions {
  /** The id of the call, as `Chunk.call` has it. */
  call?: string;
  /** Or: the mark in `_meta["dev.portcullis/correlationId"]` of the call's own request. */
  correlationId?: string;
  /** Numbers the messages to a call from 0 on: one that is sent again is taken once. */
  seq?: number;
  /** Nothing comes after this message, which may be empty then. */
  end?: boolean;
}

/**
 * Puts `message` into the queue of a running call and resolves to the call's id. Without `call` and `correlationId` it is
 * for the one call that is running. Rejects with -32602 when there is none, several (`error.data.running` lists them),
 * its queue is full, or a message is missing (`error.data.next` is its number).
 */
export async function steer(client: ClientLike, message: string, options: SteerOptions = {}): Promise<string> {
  const { call, correlationId, seq, end, ...others } = options;
  const given = Object.entries({ call, correlationId, seq, end }).filter(([, value]) => value !== undefined);
  const result = await request(client, "dev.portcullis/steer", { message, ...Object.fromEntries(given) }, others);
  if (typeof result.call !== "string") throw new TypeError("the server did not say which call it steered");
  return result.call;
}
