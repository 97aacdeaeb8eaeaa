// Node's `crypto`: random values and digests.

import "../globals/crypto.js";

import { Buffer } from "buffer";
import { hmac } from "portcullis-tools/@noble/hashes/hmac.js";
import { md5, sha1 } from "portcullis-tools/@noble/hashes/legacy.js";
import { sha224, sha256, sha384, sha512 } from "portcullis-tools/@noble/hashes/sha2.js";

const DIGESTS = { md5, sha1, sha224, sha256, sha384, sha512 };

export const webcrypto = globalThis.crypto;
export const { getRandomValues, randomUUID, subtle } = webcrypto;

function digest(name) {
  const found = DIGESTS[name.toLowerCase().replace("-", "")];
  if (!found) {
    throw new Error(`the digests of crypto in the sandbox are ${Object.keys(DIGESTS).join(", ")}, not ${name}`);
  }
  return found;
}

const bytesOf = (data, encoding) => (typeof data === "string" ? Buffer.from(data, encoding) : data);

const hash = (state) => ({
  update(data, encoding) {
    state.update(bytesOf(data, encoding));
    return this;
  },
  digest(encoding) {
    const made = Buffer.from(state.digest());
    return encoding ? made.toString(encoding) : made;
  },
});

export const createHash = (name) => hash(digest(name).create());
export const createHmac = (name, key) => hash(hmac.create(digest(name), bytesOf(key)));

export function randomBytes(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 65536) {
    getRandomValues(bytes.subarray(at, at + 65536));
  }
  return bytes;
}

/** Each number is as likely as the others: what is beyond the last whole multiple of the range is drawn again. */
export function randomInt(least, end) {
  const [from, range] = end === undefined ? [0, least] : [least, end - least];
  if (!(range > 0 && range <= 2 ** 32)) {
    throw new RangeError(`randomInt: the range must be 1 to 2 ** 32, not ${range}`);
  }
  const most = 2 ** 32 - (2 ** 32 % range);
  for (;;) {
    const [drawn] = getRandomValues(new Uint32Array(1));
    if (drawn < most) {
      return from + (drawn % range);
    }
  }
}

export function timingSafeEqual(one, other) {
  if (one.byteLength !== other.byteLength) {
    throw new RangeError("timingSafeEqual: both must have the same length");
  }
  return one.reduce((different, byte, at) => different | (byte ^ other[at]), 0) === 0;
}

export default { createHash, createHmac, getRandomValues, randomBytes, randomInt, randomUUID, subtle, timingSafeEqual, webcrypto };
