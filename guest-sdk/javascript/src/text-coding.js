// TextEncoder and TextDecoder, where the engine has none: UTF-8.

import { decode, encode } from "./utf8.js";

const LABELS = ["utf-8", "utf8", "unicode-1-1-utf-8"];
const NONE = new Uint8Array();

export class TextEncoder {
  encoding = "utf-8";

  encode(text = "") {
    return encode(String(text));
  }

  /** Writes as many whole characters as there is room for. */
  encodeInto(text, target) {
    // Each unit of the text takes a byte or more.
    const bytes = encode(String(text).slice(0, target.length));
    let written = Math.min(bytes.length, target.length);
    while ((bytes[written] & 0xc0) === 0x80) {
      written -= 1;
    }
    target.set(bytes.subarray(0, written));
    return { read: decode(bytes.subarray(0, written)).length, written };
  }
}

export class TextDecoder {
  encoding = "utf-8";
  // What of a character has come, between pieces of a stream, and whether nothing has.
  #rest = NONE;
  #atStart = true;

  constructor(encoding = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!LABELS.includes(String(encoding).trim().toLowerCase())) {
      throw new RangeError(`TextDecoder decodes UTF-8 only here, not ${encoding}`);
    }
    Object.assign(this, { fatal, ignoreBOM });
  }

  decode(input = NONE, { stream = false } = {}) {
    const bytes = joined(this.#rest, bytesOf(input));
    const whole = stream ? bytes.length - unfinished(bytes) : bytes.length;
    this.#rest = bytes.slice(whole);
    let text = decode(bytes.subarray(0, whole), this.fatal);
    if (this.#atStart && !this.ignoreBOM && text.startsWith("\ufeff")) {
      text = text.slice(1);
    }
    this.#atStart = !stream || (this.#atStart && whole === 0);
    return text;
  }
}

const bytesOf = (input) =>
  ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);

function joined(one, other) {
  if (one.length === 0) {
    return other;
  }
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** How many bytes at the end begin a character whose others have not come. */
function unfinished(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) !== 0x80) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
      return length > back ? back : 0;
    }
  }
  return 0;
}
