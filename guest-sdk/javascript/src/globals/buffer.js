// Buffer, of the package that bundlers take for Node's module of this name.

import { Buffer } from "buffer";

import { complete } from "../buffer.js";
import { define } from "./define.js";

complete(Buffer);

define({ Buffer });
