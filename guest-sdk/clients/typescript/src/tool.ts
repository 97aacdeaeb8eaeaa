/** A tool of this client: what is declared, what checks its arguments, what runs. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

import type { Call } from "./call.js";
import { type JsonObject, isObject } from "./peer.js";

/** How many tools a declaration may have. */
export const MAX_TOOLS = 128;

/** A `CallToolResult` of MCP. */
export interface ContentResult {
  content: readonly JsonObject[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: JsonObject;
}

/** `A` is what `inputSchema` says, in TypeScript; it is checked against the schema, not against the type. */
export interface ToolDefinition<A = JsonObject> {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema 2020-12; of zod: `z.toJSONSchema(schema)`. */
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: { title?: string; readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  /** What it answers is for the calling server only. */
  private?: boolean;
  /** At most so many calls on one request. */
  maxCalls?: number;
  /**
   * A string is answered as text, a `ContentResult` as it is, any other value as structured content too. Throw a
   * `ToolError` to report a failure in your own words; of any other error the server learns only that there was one.
   */
  run(args: A, call: Call): unknown;
}

/** A tool ready to be declared and run; made by `tool`. */
export interface Tool {
  readonly name: string;
  readonly readOnly: boolean;
  readonly private: boolean;
  readonly maxCalls: number | undefined;
  readonly declaration: JsonObject;
  /** What is wrong with the arguments, or nothing. */
  check(args: JsonObject): string | undefined;
  run(args: JsonObject, call: Call): unknown;
}

/** Makes a tool of an ordinary function and the schema of its arguments. */
export function tool<A = JsonObject>(definition: ToolDefinition<A>): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations, maxCalls } = definition;
  if (!/^[^\s\p{C}]{1,128}$/u.test(name)) {
    throw new TypeError(`${JSON.stringify(name)} is no name for a tool: 1 to 128 characters without spaces are`);
  }
  const declaration = { name, title, description, inputSchema, outputSchema, annotations };
  const validate = compiled(inputSchema);
  return {
    name,
    readOnly: annotations?.readOnlyHint === true,
    private: definition.private === true,
    maxCalls,
    declaration: {
      ...Object.fromEntries(Object.entries(declaration).filter(([, value]) => value !== undefined)),
      ...(definition.private ? { private: true } : {}),
      ...(maxCalls === undefined ? {} : { limits: { calls: maxCalls } }),
    },
    check: (args) => (validate(args) ? undefined : told(validate)),
    // Sound as far as the schema says what the type says.
    run: (args, call) => definition.run(args as A, call),
  };
}

function compiled(schema: JsonObject): ValidateFunction {
  // Unknown formats and keywords are what the dialect says they are: annotations.
  return new Ajv2020({ strict: false, validateFormats: false, allErrors: false }).compile(schema);
}

function told(validate: ValidateFunction): string {
  const error = validate.errors?.[0];
  return `${error?.instancePath.slice(1).replaceAll("/", ".") || "arguments"}: ${error?.message ?? "invalid"}`.slice(0, 500);
}

/** What a function returned, as MCP says it. */
export function asResult(returned: unknown): ContentResult {
  if (returned === undefined || returned === null) return { content: [] };
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (isObject(returned) && Array.isArray(returned.content)) return returned as unknown as ContentResult;
  const structuredContent = isObject(returned) ? returned : { result: returned };
  return { content: [{ type: "text", text: JSON.stringify(returned) }], structuredContent };
}
