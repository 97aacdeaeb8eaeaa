// Requests to a model, which may use tools, and its answers.

import { piece, text, textOf } from "./content.js";
import { Cancelled, ClientError, Denied, Exhausted } from "./errors.js";
import { result } from "./plugin.js";
import { plainSchema, readFields } from "./schema.js";

export const user = (...content) => ({ role: "user", content: content.map(piece) });
export const assistant = (...content) => ({ role: "assistant", content: content.map(piece) });

/** A tool that the model may ask for. `input` are the types of its arguments; without `run`, its uses are answered by hand. */
export function sampleTool({ name, description, input = {}, run }) {
  return { name, description, inputSchema: JSON.stringify(plainSchema(input)), run: run && (async (args) => run(readFields(input, args))) };
}

/** The model asks for a tool. `input` is JSON text, which the model may have got wrong. */
export class ToolUse {
  type = "tool-use";

  constructor(id, name, input) {
    Object.assign(this, { id, name, input });
  }

  get args() {
    try {
      return JSON.parse(this.input);
    } catch (error) {
      throw new ClientError("unexpected-answer", `the client's answer is not what was expected: ${error.message}`);
    }
  }

  succeeded(...content) {
    return outcome(this.id, content.map(piece));
  }

  /** The model is told why. */
  failed(why) {
    return outcome(this.id, [text(String(why))], true);
  }
}

const outcome = (id, content, isError = false, structured = undefined) => ({ type: "tool-outcome", id, content, isError, structured });

/** The message that tells the model what came of its uses. */
export const outcomes = (all) => ({ role: "user", content: all });

/** What the model said, or the tools that it asks for. */
export class SampleAnswer {
  #offered;

  constructor(content, model, stopReason, offered) {
    Object.assign(this, { content, text: textOf(content), model, stopReason });
    this.#offered = offered;
  }

  /** The tools that the model asks for; empty when it has answered. */
  get toolUses() {
    return this.content.filter((one) => one instanceof ToolUse);
  }

  /** The answer as a message of the conversation that goes on. */
  get message() {
    return { role: "assistant", content: this.content };
  }

  /** Runs the tools that the model asks for. The message tells it what came of them, failures too. */
  async runTools() {
    const all = [];
    for (const use of this.toolUses) {
      all.push(await this.#run(use));
    }
    return outcomes(all);
  }

  async #run(use) {
    const run = this.#offered.find(({ name }) => name === use.name)?.run;
    if (!run) {
      return use.failed(`there is no tool named ${use.name}`);
    }
    try {
      const { content, structured, isError } = result(await run(use.args));
      return outcome(use.id, content, isError, structured);
    } catch (error) {
      // These end the call: another try of the model's changes nothing.
      if (error instanceof Cancelled || error instanceof Denied || error instanceof Exhausted) {
        throw error;
      }
      return use.failed(error?.message || error);
    }
  }
}

export function request(messages, options) {
  const all = (Array.isArray(messages) ? messages : [messages]).map((one) => (one.role ? one : user(one)));
  const { systemPrompt, maxTokens = 1_000, temperature, stop = [], models = [], purpose, tools = [], toolChoice } = options;
  const { cost, speed, intelligence } = options;
  const asked = { messages: all, systemPrompt, maxTokens, temperature, stop, models, purpose };
  return { ...asked, cost, speed, intelligence, tools, toolChoice };
}
