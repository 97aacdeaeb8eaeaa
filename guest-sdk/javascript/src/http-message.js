// Requests and answers, as `fetch` of browsers has them.

import { HttpError } from "./errors.js";
import { decode, encode } from "./utf8.js";

// How much of an answer is read, unless `maxBody` says otherwise.
const MAX_BODY = 4 << 20;

/** Names are without case. */
export class Headers {
  #entries;

  constructor(init = []) {
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

  forEach(work, self) {
    this.#entries.forEach(([name, value]) => work.call(self, value, name, this));
  }

  keys() {
    return this.#entries.map(([name]) => name).values();
  }

  values() {
    return this.#entries.map(([, value]) => value).values();
  }

  entries() {
    return this.#entries.values();
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}

/** What requests and answers have in common. The whole body is there, and may be read again. */
class Message {
  #bytes;
  bodyUsed = false;

  constructor(body) {
    this.#bytes = bytesOf(body);
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
    super(body);
    Object.assign(this, { url: request?.url ?? String(from), method: method.toUpperCase(), headers: withType(new Headers(headers), body), signal });
  }

  clone() {
    return new Request(this);
  }
}

/** An answer with any status. It has been read already. */
export class Response extends Message {
  constructor(body, { status = 200, statusText = "", headers = [], truncated = false, url = "" } = {}) {
    super(body);
    Object.assign(this, { status, statusText, headers: withType(new Headers(headers), body), truncated, url });
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

const isForm = (body) => typeof URLSearchParams === "function" && body instanceof URLSearchParams;

/** The headers, and the type that a form has by itself. */
function withType(headers, body) {
  if (isForm(body) && !headers.has("content-type")) {
    headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  }
  return headers;
}

function bytesOf(body) {
  if (body === undefined || body === null) {
    return new Uint8Array();
  }
  if (body instanceof Uint8Array) {
    return body;
  }
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  if (body instanceof ArrayBuffer || Array.isArray(body)) {
    return new Uint8Array(body);
  }
  if (typeof body === "object" && !isForm(body)) {
    throw new TypeError(`a body is text, bytes or URLSearchParams, not ${body.constructor?.name ?? "an object"}`);
  }
  return encode(String(body));
}

export function outgoing(url, { method = "GET", headers = {}, body, json, timeout, maxBody = MAX_BODY }) {
  const sent = withType(new Headers(headers), body);
  if (json !== undefined && !sent.has("content-type")) {
    sent.set("content-type", "application/json");
  }
  const bytes = bytesOf(json === undefined ? body : JSON.stringify(json));
  return { method: method.toUpperCase(), url: String(url), headers: [...sent], body: bytes, timeout, maxBody };
}

/** The method, and the URL as grants write it. */
export const target = ({ method, url }) => `${method} ${url.split("#")[0].split("?")[0]}`;
