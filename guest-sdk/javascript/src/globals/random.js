// Math.random. The engine's own is seeded when the component is built, so that its numbers would be the same in every call.

import "#wit/random";

import { host, isLoaded } from "../host.js";
import { define } from "./define.js";

const { random: engines } = Math;
let seeded = false;
let [a, b, c, d] = [0, 0, 0, 0];

/** xorshift128 of Marsaglia: not for secrets, as everywhere. */
function random() {
  if (!seeded) {
    // There is no host yet.
    if (!isLoaded()) {
      return engines();
    }
    seed();
  }
  const mixed = a ^ (a << 11);
  a = b;
  b = c;
  c = d;
  d ^= (d >>> 19) ^ mixed ^ (mixed >>> 8);
  // 53 bits: as many as there are.
  return ((d >>> 0) + (c >>> 11) / 2 ** 21) / 2 ** 32;
}

function seed() {
  const drawn = new DataView(host().random(16).buffer);
  [a, b, c, d] = [0, 4, 8, 12].map((at) => drawn.getInt32(at));
  // With nothing but zeros there would be no others.
  d ||= 1;
  seeded = true;
}

define({ random }, Math);
