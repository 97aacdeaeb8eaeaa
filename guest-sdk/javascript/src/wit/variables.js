// Variables of wasi:cli. In the component of a plugin that requests `env` only.

import environment from "wasi:cli/environment@0.2.12";

import { provide } from "../host.js";

provide({ variables: () => environment.getEnvironment() });
