// structuredClone.

import { deserialize, serialize } from "portcullis-tools/@ungap/structured-clone/esm/index.js";

import { define } from "./define.js";

define({ structuredClone: (value, options) => deserialize(serialize(value, options)) });
