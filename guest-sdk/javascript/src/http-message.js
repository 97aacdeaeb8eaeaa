// Requests and answers, as `fetch` of browsers has them.

import { HttpError } from "./errors.js";
import { Pairs } from "./pairs.js";
import { decode, encode } from "./utf8.js";

// How much of an answer is read, unless `maxBody` says otherwise.
const MAX_BODY = 4 << 20;

/** The method by which other classes of bodies say their bytes and their type. */
export const AS_BODY = Symbol.for("portcullis.body");

/** Names are without case. */
export class Headers extends Pairs {
  #entries;

  constructor(init = []) {
    super();
    const entries = typeof init?.[Symbol.iterator] === "function" ? [...init] : Object.entries(init ?? {});
    this.#entries = entries.map(([name, value]) => [String(name).toLowerCase(), String(value)]);
  }

  get(name) {
    const found = this.#entries.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
    return found.length > 0 ? found.join(", ") : null;
  }

  getSetCookie() {
    return this.#entries.filter(([known]) => known === "set-cookie").map(([, value]) => value);
  }

  has(name) {
    return this.get(name) !== null;
  }

  append(name, value) {
    this.#entries.push([name.toLowerCase(), String(value)]);
  }

  set(name, value) {
    this.delete(name);
    this.append(name, value);
  }

  delete(name) {
    this.#entries = this.#entries.filter(([known]) => known !== name.toLowerCase());
  }

  /** Sorted, and each name once: only cookies must not be joined. */
  entries() {
    const names = [...new Set(this.#entries.map(([name]) => name))].sort();
    const values = (name) => (name === "set-cookie" ? this.getSetCookie() : [this.get(name)]);
    return names.flatMap((name) => values(name).map((value) => [name, value])).values();
  }
}

/** What requests and answers have in common. The whole body is there, and may be read again. */
class Message {
  #bytes;
  bodyUsed = false;

  constructor(body, headers) {
    const { bytes, type } = bodyOf(body);
    this.#bytes = bytes;
    this.headers = new Headers(headers);
    if (type && !this.headers.has("content-type")) {
      this.headers.set("content-type", type);
    }
  }

  #read() {
    this.bodyUsed = true;
    return this.#bytes;
  }

  /** A stream of one piece: as much of it as packages read. */
  get body() {
    if (this.#bytes.length === 0) {
      return null;
    }
    const pieces = [this.#bytes];
    const next = async () => {
      this.bodyUsed = true;
      return pieces.length > 0 ? { done: false, value: pieces.shift() } : { done: true, value: undefined };
    };
    const reader = { read: next, releaseLock() {}, async cancel() {} };
    return { getReader: () => reader, async cancel() {}, [Symbol.asyncIterator]: () => ({ next, return: async () => ({ done: true }) }) };
  }

  async bytes() {
    return this.#read();
  }

  async arrayBuffer() {
    return this.#read().slice().buffer;
  }

  async text() {
    return decode(this.#read());
  }

  async json() {
    const text = decode(this.#read());
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new HttpError("unexpected-response", `the other server's answer is not what was expected: ${error.message}`);
    }
  }

  async blob() {
    return new Blob([this.#read()], { type: this.headers.get("content-type") ?? "" });
  }

  /** The body as it was given. */
  get content() {
    return this.#bytes;
  }
}

/** A request that is not sent yet. */
export class Request extends Message {
  constructor(from, options = {}) {
    const request = typeof from?.url === "string" ? from : undefined;
    const { method = request?.method ?? "GET", headers = request?.headers, signal = request?.signal, body = request?.content } = options;
    super(body, headers);
    Object.assign(this, { url: request?.url ?? String(from), method: method.toUpperCase(), signal });
  }

  clone() {
    return new Request(this);
  }
}

/** An answer with any status. It has been read already. */
export class Response extends Message {
  constructor(body, { status = 200, statusText = "", headers = [], truncated = false, url = "" } = {}) {
    super(body, headers);
    Object.assign(this, { status, statusText, truncated, url, type: "basic", redirected: false });
  }

  static json(value, options) {
    const answer = new Response(JSON.stringify(value), options);
    if (!answer.headers.has("content-type")) {
      answer.headers.set("content-type", "application/json");
    }
    return answer;
  }

  get ok() {
    return this.status >= 200 && this.status <= 299;
  }

  clone() {
    return new Response(this.content, this);
  }

  /** The response itself, if its status is a success. */
  throwForStatus() {
    if (!this.ok) {
      throw new HttpError("status", `the other server answered with status ${this.status}`);
    }
    return this;
  }
}

/** The bytes of a body, and the type that it has by itself. */
function bodyOf(body) {
  if (body === undefined || body === null) {
    return { bytes: new Uint8Array() };
  }
  if (typeof body !== "object") {
    return { bytes: encode(String(body)) };
  }
  if (typeof body[AS_BODY] === "function") {
    return body[AS_BODY]();
  }
  if (ArrayBuffer.isView(body)) {
    return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength) };
  }
  if (body instanceof ArrayBuffer || Array.isArray(body)) {
    return { bytes: new Uint8Array(body) };
  }
  // A component has this name if the plugin or a package mentions it.
  if (typeof URLSearchParams === "function" && body instanceof URLSearchParams) {
    return { bytes: encode(String(body)), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  }
  throw new TypeError(`a body is text, bytes, a form or a blob, not ${body.constructor?.name ?? "an object"}`);
}

export function outgoing(url, { method = "GET", headers, body, json, timeout, maxBody = MAX_BODY }) {
  const message = new Message(json === undefined ? body : JSON.stringify(json), headers);
  if (json !== undefined && !message.headers.has("content-type")) {
    message.headers.set("content-type", "application/json");
  }
  return { method: method.toUpperCase(), url: String(url), headers: [...message.headers], body: message.content, timeout, maxBody };
}

/** The method, and the URL as grants write it. */
export const target = ({ method, url }) => `${method} ${url.split("#")[0].split("?")[0]}`;
