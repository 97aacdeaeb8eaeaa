/** Write Portcullis plugins in TypeScript: plain functions become MCP tools. See ../README.md. */

export * from "./types/content.js";
export * from "./types/errors.js";
export * from "./types/schema.js";
export * from "./types/http.js";
export * from "./types/plugin.js";
export * from "./types/typed.js";
export * from "./types/client.js";
export * from "./types/outside.js";
export * from "./types/running.js";
