// Write Portcullis plugins in JavaScript: plain functions become MCP tools. See ../README.md.
export * as agentTools from "./agent-tools.js";
export * as checkpoint from "./checkpoint.js";
export { ask, assistant, confirm, sample, user } from "./client.js";
export { audio, embedded, failure, image, link, text } from "./content.js";
export * from "./errors.js";
export { fetch } from "./http.js";
export * as log from "./log.js";
export { emit, report } from "./output.js";
export { prompt, resource, resourceTemplate, tool } from "./plugin.js";
export { t } from "./schema.js";
export * as state from "./state.js";
export * as steering from "./steering.js";
