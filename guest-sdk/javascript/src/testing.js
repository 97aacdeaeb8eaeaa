// A fake host, which records what a tool sends and answers what it asks. Tests run natively, without WebAssembly.

import { Typed } from "./completion.js";
import { text, textOf } from "./content.js";
import * as errors from "./errors.js";
import { Blob, File, FormData } from "./forms.js";
import { define } from "./globals/define.js";
import { use } from "./host.js";
import { fetch } from "./http.js";
import { Headers, Request, Response, target } from "./http-message.js";
import { complete, findResource, PLUGIN, result } from "./plugin.js";
import { SampleAnswer, ToolUse } from "./sampling.js";
import { decode, encode } from "./utf8.js";

export { Response, ToolUse };

// Answers of a user who does not fill in a form.
export const DECLINED = new errors.Declined();
export const DISMISSED = new errors.Dismissed();

// While a tool runs, packages that look for these names send their requests to the fake host, as in a component.
const GLOBALS = { Blob, fetch, File, FormData, Headers, Request, Response };

const CONTEXT = { id: "test", principal: "local", deadlineMs: 60_000 };

/**
 * What the tool finds. `forms`, `samples` and `pages` answer its questions in order: an object; a text, a ToolUse or a list of these;
 * true; or an error. `agentTools` are functions of the arguments, `http` one of the request, `connections` those of requests by the
 * name of a connected account (null: not connected yet); without one of these, it is denied. One call at a time.
 */
export class Host {
  constructor({ context = {}, values = {}, ...answers } = {}) {
    const { forms = [], samples = [], pages = [], roots, agentTools = {}, connections = {}, http, messages = [] } = answers;
    const kept = Object.entries(values).map(([key, value]) => [key, { value: encode(value), version: 1 }]);
    Object.assign(this, { forms, samples, pages, roots, agentTools, connections, http, messages, context: { ...CONTEXT, ...context } });
    // Texts of files by path, and variables by name.
    Object.assign(this, { files: answers.files, env: answers.env ?? {} });
    this.checkpoint = answers.checkpoint;
    this.fuel = "fuel" in answers ? answers.fuel : 1_000_000_000;
    // What the tool did.
    Object.assign(this, { chunks: [], reports: [], records: [], asked: [], agentCalls: [], requests: [], saved: [] });
    // What it left behind: bodies and attributes by path, prompts by name, events.
    Object.assign(this, { resources: {}, prompts: {}, events: [], accountRequests: [] });
    this.kept = new Map(kept);
    // Nobody reads the output any more: the call was cancelled.
    this.closed = false;
  }

  /** Calls a tool, as `tool` returned it or by its name, with arguments as a client sends them. */
  async call(tool, args = {}) {
    const offer = typeof tool === "string" ? PLUGIN.tools.get(tool) : tool;
    return this.#within(async () => result(await offer.answer(this.context, JSON.stringify(args))));
  }

  /** Reads a resource. */
  async read(uri) {
    return this.#within(async () => findResource(uri).get(this.context, uri));
  }

  /** Gets a prompt. */
  async prompt(name, args = {}) {
    return this.#within(() => PLUGIN.prompts.get(name).call(this.context, args));
  }

  /** Suggestions for an argument of a prompt, or for a variable of a template; `others` are filled in already. */
  async complete(offer, argument, value, others = {}) {
    const kind = PLUGIN.templates.has(offer) ? "resource template" : "prompt";
    return this.#within(() => complete(kind, offer, argument, new Typed(value, others, this.context)));
  }

  /** Asks what has become of an effect of a tool. */
  async reconcile(tool, effect, args = {}) {
    return this.#within(async () => PLUGIN.finder?.({ tool, args, effect, step: "1", name: "", context: this.context }));
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
    const others = Object.fromEntries(Object.keys(GLOBALS).map((name) => [name, globalThis[name]]));
    define(GLOBALS);
    try {
      return await work();
    } finally {
      define(others);
      use(before);
    }
  }
}

function fake(test) {
  let opened = false;
  const connected = new Set();
  const stateSet = (key, value) => {
    const version = (test.kept.get(key)?.version ?? 0) + 1;
    test.kept.set(key, { value, version });
    return version;
  };
  return {
    emit(content) {
      if (test.closed) {
        throw new errors.Cancelled();
      }
      return test.chunks.push(content) - 1;
    },
    progress: (done, total, message) => test.reports.push({ done, total, message }),
    log: (level, message) => test.records.push({ level, message }),
    ...asking(test, connected),
    ...leaving(test, connected),
    ...filing(test),
    variables: () => Object.entries(test.env),
    fuelLeft: () => test.fuel,
    deadlineLeft: () => test.context.deadlineMs,
    listAgentTools: () => Object.keys(test.agentTools).sort(),
    callAgentTools(calls) {
      return calls.map((call) => {
        try {
          return this.callAgentTool(...call);
        } catch (error) {
          return error;
        }
      });
    },
    callAgentTool(name, args) {
      const tool = test.agentTools[name];
      if (!tool) {
        throw new errors.Denied("agent-tools", name);
      }
      test.agentCalls.push({ name, args: JSON.parse(args) });
      let answer;
      try {
        answer = tool(JSON.parse(args));
      } catch (error) {
        throw error instanceof errors.ToolError ? error : new errors.AgentError("failed", `the agent tool broke: ${error.message}`);
      }
      const said = typeof answer === "string" ? answer : JSON.stringify(answer);
      return { content: [text(said)], structured: typeof answer === "string" ? undefined : said, origin: "client", private: false };
    },
    stateGet: (key) => test.kept.get(key),
    stateSet,
    stateSwap(key, version, value) {
      if (test.kept.get(key)?.version !== version) {
        throw new errors.StateError("conflict", "somebody else changed it meanwhile");
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
        throw new errors.CheckpointError("a call must ask for what was saved before it saves");
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
        throw new errors.Denied("http", target(request));
      }
      test.requests.push(request);
      const answer = await test.http(request);
      const body = await answer.bytes();
      const truncated = body.length > request.maxBody;
      return new Response(body.slice(0, request.maxBody), { status: answer.status, headers: [...answer.headers], truncated });
    },
  };
}

function asking(test, connected) {
  const kinds = {
    form(key, { message, schema }) {
      test.asked.push({ key, message, schema: JSON.parse(schema) });
      const answer = next(test.forms, "elicitation.form");
      return answer instanceof Error ? answer : JSON.stringify(answer);
    },
    url(key, { message, address, connection }) {
      test.asked.push({ key, message, address, connection });
      const answer = next(test.pages, "elicitation.url");
      if (answer === true && connection !== undefined) {
        connected.add(connection);
      }
      return answer === true ? undefined : answer instanceof Error ? answer : new errors.Declined();
    },
    sample(key, request) {
      test.asked.push({ key, ...request });
      const answer = next(test.samples, "sampling");
      const pieces = (Array.isArray(answer) ? answer : [answer]).map((one) => (typeof one === "string" ? text(one) : one));
      const reason = pieces.some((one) => one instanceof ToolUse) ? "toolUse" : "endTurn";
      return new SampleAnswer(pieces, "test", reason, request.tools);
    },
    roots(key) {
      test.asked.push({ key, roots: true });
      if (test.roots === undefined) {
        throw new errors.Unsupported("roots");
      }
      return test.roots;
    },
  };
  return {
    ask: (key, question) => kinds[question.type](key, question),
    askMany(keyed) {
      if (new Set(keyed.map(([key]) => key)).size < keyed.length) {
        throw new Error("two questions that are asked at once have the same key");
      }
      return keyed.map(([key, question]) => this.ask(key, question));
    },
    supported() {
      const [form, url, sample] = [test.forms, test.pages, test.samples].map((answers) => answers.length > 0);
      return { form, url, sample, sampleTools: sample, roots: test.roots !== undefined };
    },
  };
}

function filing(test) {
  const there = (path) => {
    if (!test.files) {
      throw new errors.Denied("filesystem", path);
    }
    if (!(path in test.files)) {
      throw new errors.FileError("no-entry", `\`${path}\` does not exist`);
    }
    return test.files[path];
  };
  return {
    readFile: (path) => encode(there(path)),
    writeFile(path, bytes) {
      if (!test.files) {
        throw new errors.Denied("filesystem", path);
      }
      test.files[path] = decode(bytes);
    },
    listFiles(path) {
      const below = `${path.replace(/\/+$/, "")}/`;
      const names = Object.keys(test.files ?? there(path)).filter((one) => one.startsWith(below));
      return [...new Set(names.map((one) => one.slice(below.length).split("/")[0]))];
    },
    removeFile(path) {
      there(path);
      delete test.files[path];
    },
  };
}

function leaving(test, connected) {
  const once = new Set();
  const removed = (from, name) => {
    if (!(name in from)) {
      throw new errors.PublishError("not-found", "nothing is published under this name");
    }
    delete from[name];
  };
  return {
    putResource(path, body, attributes) {
      test.resources[path] = { body, ...attributes };
      return `portcullis://published/test/${path}`;
    },
    appendResource(path, body) {
      const { body: before, ...attributes } = test.resources[path] ?? { body: typeof body === "string" ? "" : new Uint8Array() };
      if (typeof before !== typeof body) {
        throw new errors.PublishError("invalid", `cannot be published: \`${path}\` has another kind of body`);
      }
      return this.putResource(path, typeof body === "string" ? before + body : new Uint8Array([...before, ...body]), attributes);
    },
    removeResource: (path) => removed(test.resources, path),
    putPrompt(prompt) {
      test.prompts[prompt.name] = prompt;
    },
    removePrompt: (name) => removed(test.prompts, name),
    emitEvent(name, payload, key) {
      const known = JSON.stringify([name, key]);
      if (key !== undefined && once.has(known)) {
        return false;
      }
      once.add(known);
      test.events.push({ name, payload: JSON.parse(payload) });
      return true;
    },
    connected(name) {
      if (!(name in test.connections)) {
        throw new errors.Denied("connections", name);
      }
      return test.connections[name] !== null || connected.has(name);
    },
    async send(name, request) {
      if (!this.connected(name)) {
        throw new errors.AccountError("not-connected", "the account is not connected");
      }
      test.accountRequests.push({ name, ...request });
      return (await test.connections[name]?.(request)) ?? new Response("", { status: 404 });
    },
  };
}

function next(answers, ability) {
  if (answers.length === 0) {
    throw new errors.Unsupported(ability);
  }
  const answer = answers.shift();
  // A user's no is an answer.
  const isNo = answer instanceof errors.Declined || answer instanceof errors.Dismissed;
  if (answer instanceof Error && !isNo) {
    throw answer;
  }
  return answer;
}
