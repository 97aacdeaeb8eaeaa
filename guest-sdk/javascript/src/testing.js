// A fake host, which records what a tool sends and answers what it asks. Tests run natively, without WebAssembly.

import { text, textOf } from "./content.js";
import { AgentError, Cancelled, CheckpointError, Declined, Denied, Dismissed, StateError, ToolError, Unsupported } from "./errors.js";
import { use } from "./host.js";
import { Response, target } from "./http.js";
import { findResource, PLUGIN } from "./plugin.js";
import { decode, encode } from "./utf8.js";

export { Response };

// Answers of a user who does not fill in a form.
export const DECLINED = new Declined();
export const DISMISSED = new Dismissed();

const CONTEXT = { id: "test", principal: "local", deadlineMs: 60_000 };

/**
 * What the tool finds. `forms` and `samples` answer its questions in order: an object or an error, a text or an error. `agentTools` are
 * functions of the arguments, `http` one of the request; without one of these, it is denied. One call at a time.
 */
export class Host {
  constructor({ forms = [], samples = [], agentTools = {}, http, messages = [], context = {}, checkpoint, values = {} } = {}) {
    const kept = Object.entries(values).map(([key, value]) => [key, { value: encode(value), version: 1 }]);
    Object.assign(this, { forms, samples, agentTools, http, messages, checkpoint, context: { ...CONTEXT, ...context } });
    // What the tool did.
    Object.assign(this, { chunks: [], reports: [], records: [], asked: [], agentCalls: [], requests: [], saved: [] });
    this.kept = new Map(kept);
    // Nobody reads the output any more: the call was cancelled.
    this.closed = false;
  }

  /** Calls a tool, as `tool` returned it or by its name, with arguments as a client sends them. */
  async call(tool, args = {}) {
    const offer = typeof tool === "string" ? PLUGIN.tools.get(tool) : tool;
    return this.#within(() => offer.call(this.context, JSON.stringify(args)));
  }

  /** Reads a resource. */
  async read(uri) {
    return this.#within(async () => findResource(uri).get(this.context, uri));
  }

  /** Gets a prompt. */
  async prompt(name, args = {}) {
    return this.#within(() => PLUGIN.prompts.get(name).call(this.context, args));
  }

  get chunkTexts() {
    return this.chunks.map(textOf);
  }

  /** The values that are kept, as text. */
  get values() {
    return Object.fromEntries([...this.kept].map(([key, { value }]) => [key, decode(value)]));
  }

  async #within(work) {
    const before = use(fake(this));
    try {
      return await work();
    } finally {
      use(before);
    }
  }
}

function fake(test) {
  let opened = false;
  const stateSet = (key, value) => {
    const version = (test.kept.get(key)?.version ?? 0) + 1;
    test.kept.set(key, { value, version });
    return version;
  };
  return {
    emit(content) {
      if (test.closed) {
        throw new Cancelled();
      }
      return test.chunks.push(content) - 1;
    },
    progress: (done, total, message) => test.reports.push({ done, total, message }),
    log: (level, message) => test.records.push({ level, message }),
    form(key, message, schema) {
      test.asked.push({ key, message, schema: JSON.parse(schema) });
      return JSON.stringify(next(test.forms, "elicitation.form"));
    },
    sample(key, request) {
      test.asked.push({ key, ...request });
      const said = next(test.samples, "sampling");
      return { content: [text(said)], text: said, model: "test", stopReason: "endTurn" };
    },
    listAgentTools: () => Object.keys(test.agentTools).sort(),
    callAgentTool(name, args) {
      const tool = test.agentTools[name];
      if (!tool) {
        throw new Denied("agent-tools", name);
      }
      test.agentCalls.push({ name, args: JSON.parse(args) });
      let answer;
      try {
        answer = tool(JSON.parse(args));
      } catch (error) {
        throw error instanceof ToolError ? error : new AgentError("failed", `the agent tool broke: ${error.message}`);
      }
      const said = typeof answer === "string" ? answer : JSON.stringify(answer);
      return { content: [text(said)], structured: typeof answer === "string" ? undefined : said, origin: "client", private: false };
    },
    stateGet: (key) => test.kept.get(key),
    stateSet,
    stateSwap(key, version, value) {
      if (test.kept.get(key)?.version !== version) {
        throw new StateError("conflict", "somebody else changed it meanwhile");
      }
      return stateSet(key, value);
    },
    stateRemove: (key) => test.kept.delete(key),
    stateKeys: (prefix, after = "") =>
      [...test.kept.keys()]
        .filter((key) => key.startsWith(prefix) && key > after)
        .sort()
        .slice(0, 100),
    restored() {
      opened = true;
      return test.checkpoint === undefined ? undefined : encode(JSON.stringify(test.checkpoint));
    },
    save(state) {
      if (!opened) {
        throw new CheckpointError("a call must ask for what was saved before it saves");
      }
      test.saved.push(JSON.parse(decode(state)));
    },
    nextMessage: () => test.messages.shift(),
    receive(timeout) {
      const message = test.messages.shift();
      return message !== undefined ? { message } : timeout === undefined ? { ended: true } : { timedOut: true };
    },
    async http(request) {
      if (!test.http) {
        throw new Denied("http", target(request));
      }
      test.requests.push(request);
      const answer = await test.http(request);
      const body = await answer.bytes();
      const truncated = body.length > request.maxBody;
      return new Response(body.slice(0, request.maxBody), { status: answer.status, headers: [...answer.headers], truncated });
    },
  };
}

function next(answers, ability) {
  if (answers.length === 0) {
    throw new Unsupported(ability);
  }
  const answer = answers.shift();
  if (answer instanceof Error) {
    throw answer;
  }
  return answer;
}
