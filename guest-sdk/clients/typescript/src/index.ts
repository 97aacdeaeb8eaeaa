/**
 * Lets an MCP server's tools call yours, takes their output while they run, and speaks to them meanwhile.
 *
 * For clients built on `@modelcontextprotocol/client` 2.x or `@modelcontextprotocol/sdk` 1.x, unmodified.
 */
export { type Call, ToolError, currentCall } from "./call.js";
export { ClientTools, type ClientToolsOptions, type Lane, clientTools } from "./client-tools.js";
export { type Chunk, type Delivery, PartialResults, Run, partialResults } from "./partial-results.js";
export type { ClientLike, JsonObject } from "./peer.js";
export type { Approve, Decision, Limits } from "./runner.js";
export { type SteerOptions, steer } from "./steering.js";
export { type ContentResult, type Tool, type ToolDefinition, tool } from "./tool.js";
