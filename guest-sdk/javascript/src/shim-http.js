// Global names, too, where the manifest requests `http`: some packages look for them in globalThis.

import * as globals from "./globals.js";

Object.assign(globalThis, globals);
