// Tools whose schemas `portcullis build` makes of the types of their arguments and results.

import { offerTool } from "./plugin.js";

/** Schemas by the names of tools; undefined where nothing was built: in native tests. */
let known;
/** The names of the tools that need one. */
export const typed = [];

/** The build gives the schemas, as text, before the plugin is loaded. */
export function learn(schemas) {
  known = schemas;
}

/** A tool. Its type arguments say what it takes, and what it returns. */
export function typedTool(offer) {
  typed.push(offer.name);
  const made = known && Object.hasOwn(known, offer.name) ? known[offer.name] : undefined;
  if (known && !made) {
    throw new TypeError(`\`${offer.name}\` has no schema: no call of typedTool had this name when the plugin was built`);
  }
  const { input = '{"type":"object"}', output } = made ?? {};
  const schema = input.includes('"default":') ? JSON.parse(input) : undefined;
  return offerTool({ ...offer, inputSchema: input, outputSchema: output }, (given) => {
    fill(given, schema, schema);
    return given;
  });
}

/** Puts in the defaults of what was left out. The host has checked the rest. */
function fill(value, schema, root) {
  if (schema === undefined || typeof value !== "object" || value === null) {
    return;
  }
  const inside = schema.anyOf?.filter(({ type, $ref }) => $ref || [type].flat().some((one) => one === "object" || one === "array"));
  if (inside?.length === 1) {
    fill(value, inside[0], root);
    return;
  }
  const { properties = {}, items, additionalProperties } = schema.$ref ? root.$defs[schema.$ref.slice("#/$defs/".length)] : schema;
  if (Array.isArray(value)) {
    value.forEach((item) => fill(item, items, root));
    return;
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name) && "default" in property) {
      // Of its own: a tool may change what it is given.
      value[name] = JSON.parse(JSON.stringify(property.default));
    }
  }
  for (const [name, one] of Object.entries(value)) {
    fill(one, Object.hasOwn(properties, name) ? properties[name] : additionalProperties || undefined, root);
  }
}
