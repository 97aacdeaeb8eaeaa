// The plugin `polyglot` in JavaScript, as ../README.md specifies it: the tools of each file.

import "./shapes.js";
import "./asking.js";
import "./outside.js";
import "./lasting.js";
import "./leaving.js";
import "./files-and-variables.js";
import "./doubt.js";
import "./offers.js";
