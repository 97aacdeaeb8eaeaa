// Blob, File and FormData, as far as bodies of requests are made of them.

import { AS_BODY } from "./http-message.js";
import { Pairs } from "./pairs.js";
import { decode, encode } from "./utf8.js";

export class Blob {
  #bytes;

  constructor(pieces = [], { type = "" } = {}) {
    this.#bytes = joined([...pieces].map(bytesOf));
    this.type = String(type).toLowerCase();
  }

  get size() {
    return this.#bytes.length;
  }

  slice(start = 0, end = this.size, type = "") {
    return new Blob([this.#bytes.slice(start, end)], { type });
  }

  async bytes() {
    return this.#bytes.slice();
  }

  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }

  async text() {
    return decode(this.#bytes);
  }

  [AS_BODY]() {
    return { bytes: this.#bytes, type: this.type };
  }
}

export class File extends Blob {
  constructor(pieces, name, { lastModified = Date.now(), ...options } = {}) {
    super(pieces, options);
    Object.assign(this, { name: String(name), lastModified });
  }
}

export class FormData extends Pairs {
  #entries = [];

  append(name, value, fileName) {
    this.#entries.push(entry(name, value, fileName));
  }

  /** Where the name first was, or at the end. */
  set(name, value, fileName) {
    const at = this.#entries.findIndex(([known]) => known === String(name));
    const others = this.#entries.filter(([known]) => known !== String(name));
    others.splice(at < 0 ? others.length : at, 0, entry(name, value, fileName));
    this.#entries = others;
  }

  get(name) {
    return this.getAll(name)[0] ?? null;
  }

  getAll(name) {
    return this.#entries.filter(([known]) => known === String(name)).map(([, value]) => value);
  }

  has(name) {
    return this.getAll(name).length > 0;
  }

  delete(name) {
    this.#entries = this.#entries.filter(([known]) => known !== String(name));
  }

  entries() {
    return this.#entries.map((one) => [...one]).values();
  }

  [AS_BODY]() {
    const parts = this.#entries.map(([name, value]) => [name, value, bytesOf(value)]);
    const boundary = boundaryOf(parts.map(([, , bytes]) => bytes));
    const pieces = parts.flatMap(([name, value, bytes]) => {
      const file = value instanceof Blob ? `; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}` : "";
      return [encode(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n\r\n`), bytes, encode("\r\n")];
    });
    return { bytes: joined([...pieces, encode(`--${boundary}--\r\n`)]), type: `multipart/form-data; boundary=${boundary}` };
  }
}

function entry(name, value, fileName) {
  if (!(value instanceof Blob)) {
    return [String(name), String(value)];
  }
  const isFile = value instanceof File && fileName === undefined;
  return [String(name), isFile ? value : new File([value], fileName ?? "blob", { type: value.type })];
}

const quoted = (name) => name.replace(/\r\n|\r|\n/g, "%0D%0A").replace(/"/g, "%22");

/** A line that is in none of these. */
function boundaryOf(contents) {
  for (let count = 0; ; count += 1) {
    const boundary = `portcullis-form-${count}`;
    const line = encode(boundary);
    if (!contents.some((bytes) => has(bytes, line))) {
      return boundary;
    }
  }
}

/** The engine itself finds the places that are looked at. */
function has(bytes, line) {
  const isAt = (at) => line.every((byte, offset) => bytes[at + offset] === byte);
  let at = bytes.indexOf(line[0]);
  while (at >= 0 && !isAt(at)) {
    at = bytes.indexOf(line[0], at + 1);
  }
  return at >= 0;
}

function bytesOf(piece) {
  if (piece instanceof Blob) {
    return piece[AS_BODY]().bytes;
  }
  if (ArrayBuffer.isView(piece)) {
    return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength).slice();
  }
  return piece instanceof ArrayBuffer ? new Uint8Array(piece).slice() : encode(String(piece));
}

function joined(pieces) {
  const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
