// What a plugin offers: each call of `tool` and the like adds to it.

import { suggest } from "./completion.js";
import { isContent, piece, textOf, text, ToolResult } from "./content.js";
import { InvalidArguments, NotFound } from "./errors.js";
import { fieldsReader, inputSchema, outputSchema } from "./schema.js";

export const PLUGIN = { tools: new Map(), resources: new Map(), templates: new Map(), prompts: new Map(), finder: undefined };

function add(kind, key, offer) {
  if (kind.has(key)) {
    throw new TypeError(`there is \`${key}\` already`);
  }
  kind.set(key, offer);
  return offer;
}

function check({ name, description, run }) {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name ?? "")) {
    throw new TypeError(`\`${name}\` is not a name; write 1 to 64 of A-Z a-z 0-9 _ -`);
  }
  if (!description) {
    throw new TypeError(`\`${name}\` needs a description; it tells clients what this is`);
  }
  if (typeof run !== "function") {
    throw new TypeError(`\`${name}\` needs a function \`run\``);
  }
}

/** A tool. `input` are the types of its arguments by name, `output` that of a structured result. */
export function tool(offer) {
  check(offer);
  const { input = {}, output } = offer;
  if (output && output.schema.type !== "object") {
    throw new TypeError(`the output of \`${offer.name}\` must be an object; leave it out for anything else`);
  }
  const schemas = { inputSchema: JSON.stringify(inputSchema(input)), outputSchema: output && JSON.stringify(outputSchema(output)) };
  return offerTool({ ...offer, ...schemas }, fieldsReader(input));
}

/** A tool with its schemas; `read` makes of the arguments, which the host has checked, what `run` takes. */
export function offerTool(offer, read) {
  check(offer);
  return add(PLUGIN.tools, offer.name, {
    execution: "inline",
    ...offer,
    answer: (context, args) => offer.run(read(JSON.parse(args)), context),
  });
}

/** A resource: `read` gives text, bytes, or what is written as JSON. */
export function resource(offer) {
  check({ ...offer, run: offer.read });
  return add(PLUGIN.resources, offer.uri, {
    ...offer,
    get: async (context, uri) => contents(await offer.read(context), uri, offer.mimeType),
  });
}

/** Resources of a pattern such as `guide://city/{name}`: `read` gets the variables. Undefined says that there is no such resource. */
export function resourceTemplate(offer) {
  check({ ...offer, run: offer.read });
  const escaped = (words) => words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pieces = offer.uriTemplate.split(/\{(\w+)\}/);
  const pattern = new RegExp(`^${pieces.map((words, at) => (at % 2 ? `(?<${words}>[^/?#]+?)` : escaped(words))).join("")}$`);
  return add(PLUGIN.templates, offer.uriTemplate, {
    ...offer,
    variables: (uri) => variables(pattern, uri),
    get: async (context, uri) => contents(await offer.read(variables(pattern, uri), context), uri, offer.mimeType),
  });
}

/** A prompt. `args` are descriptions by name, or `{ title, description, required }`; `get` gives a string or messages. */
export function prompt(offer) {
  check({ ...offer, run: offer.get });
  const complete = {};
  const declared = Object.entries(offer.args ?? {}).map(([name, about]) => {
    const { title, description, required = true, complete: source } = typeof about === "string" ? { description: about } : about;
    complete[name] = source;
    return { name, title, description, required };
  });
  const call = async (context, args) => messages(await offer.get(args, context));
  return add(PLUGIN.prompts, offer.name, { ...offer, declared, complete, call });
}

/** Suggestions for an argument of a `prompt`, or of a `resource template`. */
export async function complete(kind, name, argument, typed) {
  const found = (kind === "prompt" ? PLUGIN.prompts : PLUGIN.templates).get(name);
  if (!found) {
    throw new InvalidArguments(`this plugin has no ${kind} \`${name}\``);
  }
  return suggest(found.complete?.[argument], typed);
}

/** The resource with this URI. */
export function findResource(uri) {
  const found = PLUGIN.resources.get(uri) ?? [...PLUGIN.templates.values()].find((one) => one.variables(uri));
  if (!found) {
    throw new NotFound();
  }
  return found;
}

function variables(pattern, uri) {
  const match = pattern.exec(uri);
  try {
    return match && Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return null;
  }
}

/** What a function returned, as a result. */
export function result(value) {
  if (value === undefined || value === null) {
    return new ToolResult();
  }
  if (value instanceof ToolResult) {
    return value;
  }
  if (typeof value === "string" || isContent(value)) {
    return new ToolResult([piece(value)]);
  }
  if (Array.isArray(value) && value.length > 0 && value.every(isContent)) {
    return new ToolResult(value);
  }
  const json = JSON.stringify(value);
  if (json === undefined) {
    throw new TypeError("the result cannot be written as JSON");
  }
  return new ToolResult([text(json)], json.startsWith("{") ? json : undefined);
}

function contents(value, uri, mimeType) {
  if (value === undefined || value === null) {
    throw new NotFound();
  }
  const all = Array.isArray(value) ? value : [value];
  if (all.every((one) => one.type === "embedded" && isContent(one))) {
    return all;
  }
  const isPlain = typeof value === "string" || value instanceof Uint8Array;
  const body = isPlain ? value : JSON.stringify(value);
  return [{ type: "embedded", uri, body, mimeType: mimeType ?? (isPlain ? undefined : "application/json") }];
}

function messages(value) {
  const all = Array.isArray(value) ? value : [value];
  return all.map((one) => (one.role ? one : { role: "user", content: [piece(one)] }));
}

export { textOf };
