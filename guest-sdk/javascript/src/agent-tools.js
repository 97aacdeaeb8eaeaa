// Tools on the agent's side. The manifest requests them, `"agent-tools": ["notes.add"]`, and the operator grants them.

import { textOf } from "./content.js";
import { host } from "./host.js";

/**
 * Calls a tool and waits for its result: the structured content, or else the text, as JSON where it is JSON. Options are `timeout`
 * in milliseconds, `purpose`, and `chunks`, which forwards what the tool emits.
 */
export async function call(name, args = {}, options = {}) {
  const result = await callRaw(name, args, options);
  if (result.structured !== undefined) {
    return JSON.parse(result.structured);
  }
  const said = textOf(result.content);
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}

/** As `call`, with the whole result. */
export const callRaw = async (name, args = {}, options = {}) =>
  host().callAgentTool(name, JSON.stringify(args), { timeout: options.timeout, purpose: options.purpose, chunks: options.chunks ?? false });

/** The names of the tools that `call` can reach now. */
export const names = async () => host().listAgentTools();
