// Requests and answers, as `fetch` of browsers has them.

import { HttpError } from "./errors.js";
import { decode, encode } from "./utf8.js";

// How much of an answer is read, unless `maxBody` says otherwise.
const MAX_BODY = 4 << 20;

/** Names are without case. */
export class Headers {
  #entries;

  constructor(init = []) {
    const entries = Array.isArray(init) ? init : typeof init.entries === "function" ? [...init.entries()] : Object.entries(init);
    this.#entries = entries.map(([name, value]) => [name.toLowerCase(), String(value)]);
  }

  get(name) {
    const found = this.#entries.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
    return found.length > 0 ? found.join(", ") : null;
  }

  has(name) {
    return this.get(name) !== null;
  }

  append(name, value) {
    this.#entries.push([name.toLowerCase(), String(value)]);
  }

  set(name, value) {
    this.#entries = this.#entries.filter(([known]) => known !== name.toLowerCase());
    this.append(name, value);
  }

  entries() {
    return this.#entries.values();
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}

/** An answer with any status. It has been read already. */
export class Response {
  #body;

  constructor(body, { status = 200, headers = [], truncated = false, url = "" } = {}) {
    this.#body = typeof body === "string" ? encode(body) : (body ?? new Uint8Array());
    Object.assign(this, { status, headers: new Headers(headers), truncated, url });
  }

  get ok() {
    return this.status >= 200 && this.status <= 299;
  }

  async bytes() {
    return this.#body;
  }

  async arrayBuffer() {
    return this.#body.slice().buffer;
  }

  async text() {
    return decode(this.#body);
  }

  async json() {
    try {
      return JSON.parse(decode(this.#body));
    } catch (error) {
      throw new HttpError("unexpected-response", `the other server's answer is not what was expected: ${error.message}`);
    }
  }

  /** The response itself, if its status is a success. */
  throwForStatus() {
    if (!this.ok) {
      throw new HttpError("status", `the other server answered with status ${this.status}`);
    }
    return this;
  }
}

export function outgoing(url, { method = "GET", headers = {}, body, json, timeout, maxBody = MAX_BODY }) {
  const sent = new Headers(headers);
  if (json !== undefined && !sent.has("content-type")) {
    sent.set("content-type", "application/json");
  }
  const text = json === undefined ? (body ?? "") : JSON.stringify(json);
  const bytes = typeof text === "string" ? encode(text) : new Uint8Array(text);
  return { method: method.toUpperCase(), url: String(url), headers: [...sent], body: bytes, timeout, maxBody };
}

/** The method, and the URL as grants write it. */
export const target = ({ method, url }) => `${method} ${url.split("#")[0].split("?")[0]}`;
