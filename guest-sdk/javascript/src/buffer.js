// What the package `buffer` lacks beside Node's: the encoding `base64url`, and speed with long texts.

import { decode, encode } from "./utf8.js";

const isUrl = (encoding) => /^base64url$/i.test(encoding);
const isText = (encoding) => !encoding || /^utf-?8$/i.test(encoding);
// What reads base64 takes the letters of both.
const known = (encoding) => (isUrl(encoding) ? "base64" : encoding);

/** Changes the class itself: packages import it, too. */
export function complete(Buffer) {
  const { byteLength, from, isEncoding } = Buffer;
  const { toString, write } = Buffer.prototype;
  const encoded = (value, encoding) => (typeof value === "string" && isText(encoding) ? encode(value) : undefined);
  Object.assign(Buffer, {
    byteLength: (value, encoding) => encoded(value, encoding)?.length ?? byteLength(value, known(encoding)),
    from(value, encoding, length) {
      const bytes = encoded(value, encoding);
      return bytes ? from(bytes.buffer, bytes.byteOffset, bytes.length) : from(value, known(encoding), length);
    },
    isEncoding: (encoding) => isUrl(encoding) || isEncoding(encoding),
  });
  Object.assign(Buffer.prototype, {
    toString(encoding, start = 0, end = this.length) {
      if (isText(encoding)) {
        return decode(this.subarray(Math.max(0, start), Math.max(0, end)));
      }
      const text = toString.call(this, known(encoding), start, end);
      return isUrl(encoding) ? text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "") : text;
    },
    write(text, ...rest) {
      return write.call(this, text, ...rest.map(known));
    },
  });
}
