// TextEncoder and TextDecoder.

import { TextDecoder, TextEncoder } from "../text-coding.js";
import { define } from "./define.js";

define({ TextDecoder, TextEncoder });
