// Tools on the agent's side.

import agentTools from "portcullis:plugin/agent-tools@0.1.0";

import { textOf } from "../content.js";
import * as errors from "../errors.js";
import { provide } from "../host.js";
import { COMMON, errorOf, fromContent, kinds, made, orNothing, orNull } from "./values.js";

const AGENT = {
  ...COMMON,
  "not-supported": (who) => new errors.Unsupported(`agent tools are not supported: ${who}`),
  ...kinds(errors.AgentError, {
    "unknown-tool": (name) => `there is no agent tool \`${name}\``,
    declined: (why) => `declined: ${why}`,
    cycle: (name) => `\`${name}\` is already being called in this chain`,
    timeout: (after) => `no answer within ${after} ms`,
    "invalid-arguments": (why) => `invalid arguments: ${why}`,
    "tool-error": ([content]) => `the agent tool failed: ${textOf(content.map(fromContent))}`,
    failed: (why) => `the agent tool broke: ${why}`,
  }),
};

const optionsOf = ({ timeout, purpose, chunks }) => ({ timeoutMs: orNull(timeout), purpose: orNull(purpose), chunks });

function resultOf({ origin: { tag, val }, structured, edited, content, private: isPrivate }) {
  const origin = val === undefined ? tag : `${tag}:${val}`;
  return { content: content.map(fromContent), structured: orNothing(structured), origin, private: isPrivate, edited: orNothing(edited) };
}

provide({
  listAgentTools: () => agentTools.listTools().map((tool) => tool.name),
  callAgentTool: (name, args, options) => resultOf(made(() => agentTools.call(name, args, optionsOf(options)), AGENT)),
  callAgentTools: (calls) =>
    agentTools
      .callMany(calls.map(([name, args, options]) => ({ name, arguments: args, options: optionsOf(options) })))
      .map(({ tag, val }) => (tag === "ok" ? resultOf(val) : errorOf(val, AGENT))),
});
