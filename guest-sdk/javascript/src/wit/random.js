// Random numbers. In the component of a plugin that mentions `crypto` or `random` only.

import random from "wasi:random/random@0.2.12";

import { provide } from "../host.js";

provide({ random: (length) => new Uint8Array(random.getRandomBytes(length)) });
