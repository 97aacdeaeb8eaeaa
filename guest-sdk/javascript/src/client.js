// Questions to the user and the model. Waiting costs no fuel, and it pauses the call's deadline. A client that cannot answer ends
// the tool: nothing behind the question runs.

import { piece } from "./content.js";
import { ClientError, Declined, Dismissed, InvalidArguments } from "./errors.js";
import { host } from "./host.js";
import { formSchema, readFields } from "./schema.js";

export const user = (...content) => ({ role: "user", content: content.map(piece) });
export const assistant = (...content) => ({ role: "assistant", content: content.map(piece) });

/** Asks the user to fill in a form, and gives its values. Throws Declined or Dismissed if the user does not. */
export async function ask(message, fields, { key } = {}) {
  const answer = JSON.parse(host().form(key, message, JSON.stringify(formSchema(fields))));
  try {
    return readFields(fields, answer);
  } catch (error) {
    if (error instanceof InvalidArguments) {
      throw new ClientError("unexpected-answer", `the client's answer is not what was expected: ${error.message}`);
    }
    throw error;
  }
}

const CONFIRM = {
  type: "object",
  properties: { confirmed: { type: "boolean", title: "Yes, confirmed" } },
  required: ["confirmed"],
};

/** Asks the user for a yes. Anything else is a no, which ends the tool if `orStop`. */
export async function confirm(message, { key, orStop = false } = {}) {
  let isYes = false;
  try {
    isYes = JSON.parse(host().form(key, message, JSON.stringify(CONFIRM))).confirmed === true;
  } catch (error) {
    if (!(error instanceof Declined || error instanceof Dismissed)) {
      throw error;
    }
  }
  if (orStop && !isYes) {
    throw new Declined("the user did not confirm");
  }
  return isYes;
}

/** Asks the client's model to go on from a message or several. */
export async function sample(messages, options = {}) {
  const all = (Array.isArray(messages) ? messages : [messages]).map((one) => (one.role ? one : user(one)));
  const { systemPrompt, maxTokens = 1_000, temperature, stop = [], models = [], purpose, key } = options;
  return host().sample(key, { messages: all, systemPrompt, maxTokens, temperature, stop, models, purpose });
}
