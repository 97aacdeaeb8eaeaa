// fetch and its classes, for packages. The SDK exports the same function.

import { fetch } from "../http.js";
import { Headers, Request, Response } from "../http-message.js";
import { define } from "./define.js";

define({ fetch, Headers, Request, Response });
