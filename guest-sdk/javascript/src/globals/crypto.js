// crypto: random numbers of the host, and digests. What else browsers have there says what to use instead.

import "#wit/random";

import { sha1 } from "portcullis-tools/@noble/hashes/legacy.js";
import { sha256, sha384, sha512 } from "portcullis-tools/@noble/hashes/sha2.js";

import { host } from "../host.js";
import { define } from "./define.js";

const DIGESTS = { "SHA-1": sha1, "SHA-256": sha256, "SHA-384": sha384, "SHA-512": sha512 };
const MISSING = [
  ["decrypt", "deriveBits", "deriveKey", "encrypt", "exportKey", "generateKey", "importKey"],
  ["sign", "unwrapKey", "verify", "wrapKey"],
].flat();
// The most bytes that browsers give at once.
const MOST = 65536;

function getRandomValues(array) {
  if (!ArrayBuffer.isView(array) || array instanceof DataView || /Float/.test(array.constructor.name)) {
    throw new TypeError("crypto.getRandomValues fills typed arrays of integers");
  }
  if (array.byteLength > MOST) {
    throw new RangeError(`crypto.getRandomValues fills ${MOST} bytes at most, not ${array.byteLength}`);
  }
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(host().random(array.byteLength));
  return array;
}

function randomUUID() {
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const subtle = {
  async digest(algorithm, data) {
    const name = String(algorithm?.name ?? algorithm).toUpperCase();
    const digest = DIGESTS[name];
    if (!digest) {
      throw new DOMException(`crypto.subtle.digest knows ${Object.keys(DIGESTS).join(", ")}, not ${name}`, "NotSupportedError");
    }
    const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
    return digest(bytes).slice().buffer;
  },
};
for (const name of MISSING) {
  subtle[name] = async () => {
    throw new DOMException(`crypto.subtle.${name} is not in the sandbox; use a package such as @noble/ciphers or @noble/hashes`, "NotSupportedError");
  };
}

define({ crypto: { getRandomValues, randomUUID, subtle } });
