// Tools on the agent's side. The manifest requests them, `"agent-tools": ["notes.add"]`, and the operator grants them.

import "#wit/agent-tools";

import { textOf } from "./content.js";
import { host } from "./host.js";

const written = ({ name, args = {}, timeout, purpose, chunks = false }) => [name, JSON.stringify(args), { timeout, purpose, chunks }];

/**
 * Calls a tool and waits for its result: the structured content, or else the text, as JSON where it is JSON. Options are `timeout`
 * in milliseconds, `purpose`, and `chunks`, which forwards what the tool emits.
 */
export const call = async (name, args = {}, options = {}) => value(await callRaw(name, args, options));

/** As `call`, with the whole result. */
export const callRaw = async (name, args = {}, options = {}) => host().callAgentTool(...written({ ...options, name, args }));

/**
 * Makes several calls at once, as many at a time as the operator allows, and waits for all. The values are in the order of the calls,
 * which are objects of `name`, `args` and the options. A failed one does not stop the others; its error is thrown in the end. With
 * `settled`, each is as in `Promise.allSettled`.
 */
export async function callMany(calls, { settled = false } = {}) {
  const results = calls.length > 0 ? await host().callAgentTools(calls.map(written)) : [];
  if (settled) {
    return results.map((one) =>
      one instanceof Error ? { status: "rejected", reason: one } : { status: "fulfilled", value: value(one) },
    );
  }
  const failed = results.find((one) => one instanceof Error);
  if (failed) {
    throw failed;
  }
  return results.map(value);
}

/** The names of the tools that `call` can reach now. */
export const names = async () => host().listAgentTools();

function value({ structured, content }) {
  if (structured !== undefined) {
    return JSON.parse(structured);
  }
  const said = textOf(content);
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}
