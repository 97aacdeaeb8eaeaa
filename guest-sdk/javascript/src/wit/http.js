// Requests over wasi:http. In the component of a plugin that requests `http` only.

import outgoingHandler from "wasi:http/outgoing-handler@0.2.12";
import types from "wasi:http/types@0.2.12";

import { Denied, HttpError } from "../errors.js";
import { provide } from "../host.js";
import { Response, target } from "../http-message.js";
import { decode, encode } from "../utf8.js";

// The most bytes that WASI accepts in one write, and how many are read at once.
const WRITTEN = 4096;
const READ = 64 << 10;

function http(request) {
  const outgoing = outgoingOf(request);
  try {
    const body = request.body.length > 0 ? outgoing.body() : undefined;
    const future = outgoingHandler.handle(outgoing, optionsOf(request));
    if (body) {
      write(body, request.body);
    }
    const ready = future.subscribe();
    ready.block();
    // A resource must be gone before the one that it was made from.
    ready[Symbol.dispose]();
    // The first look at the answer: there is one, and nobody has taken it.
    const { val: answer } = future.get();
    if (answer.tag === "err") {
      throw Object.assign(new Error("no answer"), { payload: answer.val });
    }
    const response = answer.val;
    const headers = response.headers().entries().map(([name, value]) => [name, decode(new Uint8Array(value))]);
    const status = response.status();
    const { found, truncated } = read(response.consume(), request.maxBody);
    return new Response(found, { status, headers, truncated, url: request.url });
  } catch (error) {
    throw error?.payload?.tag ? failure(error.payload, target(request)) : error;
  }
}

provide({ http });

function outgoingOf(request) {
  const [, scheme, rest] = /^([^:]*):\/\/([^#]*)/.exec(request.url) ?? [];
  if (scheme === undefined) {
    throw invalid("the URL has no scheme");
  }
  if (scheme !== "https" && scheme !== "http") {
    throw invalid("the scheme must be https or http");
  }
  const [, authority, path] = /^([^/?]*)(.*)$/.exec(rest);
  const fields = new types.Fields();
  const headers = [...request.headers];
  if (request.body.length > 0 && !headers.some(([name]) => name === "content-length")) {
    headers.push(["content-length", String(request.body.length)]);
  }
  for (const [name, value] of headers) {
    try {
      fields.append(name, encode(value));
    } catch (error) {
      throw invalid(`the header \`${name}\`: ${error.payload?.tag ?? error.message}`);
    }
  }
  const outgoing = new types.OutgoingRequest(fields);
  const known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].includes(request.method);
  try {
    outgoing.setMethod(known ? { tag: request.method.toLowerCase() } : { tag: "other", val: request.method });
    outgoing.setScheme({ tag: scheme.toUpperCase() });
    outgoing.setAuthority(authority);
    outgoing.setPathWithQuery(path || "/");
  } catch {
    throw invalid("the method or the URL is malformed");
  }
  return outgoing;
}

function optionsOf({ timeout }) {
  if (timeout === undefined) {
    return null;
  }
  const options = new types.RequestOptions();
  for (const set of ["setConnectTimeout", "setFirstByteTimeout", "setBetweenBytesTimeout"]) {
    try {
      options[set](Math.round(timeout * 1e6));
    } catch {
      // A host that does not know one of these has its own.
    }
  }
  return options;
}

function write(body, bytes) {
  const stream = body.write();
  try {
    for (let at = 0; at < bytes.length; at += WRITTEN) {
      stream.blockingWriteAndFlush(bytes.slice(at, at + WRITTEN));
    }
  } catch {
    // The server stopped reading; its answer says why.
    return;
  } finally {
    stream[Symbol.dispose]();
  }
  types.OutgoingBody.finish(body, null);
}

function read(body, most) {
  const stream = body.stream();
  const pieces = [];
  let length = 0;
  try {
    while (length <= most) {
      const piece = new Uint8Array(stream.blockingRead(READ));
      pieces.push(piece);
      length += piece.length;
    }
  } catch (error) {
    if (error.payload?.tag !== "closed") {
      const code = error.payload && types.httpErrorCode(error.payload.val);
      throw Object.assign(new Error("the answer broke off"), { payload: code ?? { tag: "HTTP-response-incomplete" } });
    }
  } finally {
    stream[Symbol.dispose]();
  }
  const all = new Uint8Array(length);
  pieces.reduce((at, piece) => {
    all.set(piece, at);
    return at + piece.length;
  }, 0);
  return { found: all.slice(0, most), truncated: length > most };
}

const LATE = ["timeout", "the other server did not answer in time"];
const UNSENT = "the request cannot be sent: the URL is none that is sent";
const FAILURES = {
  "HTTP-request-URI-invalid": ["invalid", UNSENT],
  "HTTP-request-URI-too-long": ["invalid", UNSENT],
  "HTTP-request-method-invalid": ["invalid", "the request cannot be sent: the method is none that is sent"],
  "connection-timeout": LATE,
  "connection-read-timeout": LATE,
  "HTTP-response-timeout": LATE,
  "connection-limit-reached": ["exhausted", "a limit was reached: requests of this call"],
  "HTTP-request-body-size": ["exhausted", "a limit was reached: the size of the request's body"],
  "HTTP-response-body-size": ["exhausted", "a limit was reached: the size of the answer's body"],
  "destination-not-found": ["failed", "the other server failed: its name cannot be resolved"],
  "connection-refused": ["failed", "the other server failed: no connection could be made"],
};

function failure({ tag, val }, where) {
  if (tag === "HTTP-request-denied") {
    return new Denied("http", where);
  }
  if (tag === "internal-error" && val) {
    return new HttpError("failed", `the other server failed: ${val}`);
  }
  return new HttpError(...(FAILURES[tag] ?? ["failed", `the other server failed: ${tag}`]));
}

const invalid = (why) => new HttpError("invalid", `the request cannot be sent: ${why}`);
