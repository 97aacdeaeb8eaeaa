// What a plugin and its packages may use by name without an import. `portcullis build` adds what they name, and nothing else.

export { fetch } from "./http.js";
export { Headers, Response } from "./http-message.js";
