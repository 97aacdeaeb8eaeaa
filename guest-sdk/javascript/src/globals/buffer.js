// Buffer, of the package that bundlers take for Node's module of this name.

import { Buffer } from "buffer";

import { define } from "./define.js";

define({ Buffer });
