// URL and URLSearchParams.

import { URL, URLSearchParams } from "portcullis-tools/whatwg-url-minimum";

import { define } from "./define.js";

define({ URL, URLSearchParams });
