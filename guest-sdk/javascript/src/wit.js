// The real host: what componentize-qjs binds, in the words of this package. In WebAssembly only.
//
// WIT names become JavaScript's: a variant is `{ tag, val }`, an enum its case's name, an option the value or null; an error is
// thrown as the bare value of the WIT's error type, and one of an import is caught as the `payload` of an Error.

import agentTools from "portcullis:plugin/agent-tools@0.1.0";
import checkpoint from "portcullis:plugin/checkpoint@0.1.0";
import client from "portcullis:plugin/client@0.1.0";
import log from "portcullis:plugin/log@0.1.0";
import output from "portcullis:plugin/output@0.1.0";
import progress from "portcullis:plugin/progress@0.1.0";
import state from "portcullis:plugin/state@0.1.0";
import steering from "portcullis:plugin/steering@0.1.0";

import { textOf } from "./content.js";
import * as errors from "./errors.js";

const orNull = (value) => value ?? null;
const orNothing = (value) => value ?? undefined;

export function toContent(one) {
  const isPlain = one.audience.length === 0 && one.priority === undefined && one.lastModified === undefined;
  const annotations = isPlain
    ? null
    : { audience: one.audience, priority: orNull(one.priority), lastModified: orNull(one.lastModified) };
  return { data: toData(one), annotations };
}

function toData(one) {
  const { type, data, mimeType } = one;
  switch (type) {
    case "text":
      return { tag: "text", val: one.text };
    case "link": {
      const { uri, name, title, description, size } = one;
      const about = { title: orNull(title), description: orNull(description), mimeType: orNull(mimeType), size: orNull(size) };
      return { tag: "resource-link", val: { uri, name, ...about } };
    }
    case "embedded":
      return { tag: "resource", val: toEmbedded(one) };
    default:
      return { tag: type, val: { mimeType, data } };
  }
}

export const toEmbedded = ({ uri, body, mimeType }) => ({
  uri,
  mimeType: orNull(mimeType),
  body: { tag: typeof body === "string" ? "text" : "blob", val: body },
});

function fromContent({ data: { tag, val }, annotations }) {
  const hints = {
    audience: annotations?.audience ?? [],
    priority: orNothing(annotations?.priority),
    lastModified: orNothing(annotations?.lastModified),
  };
  switch (tag) {
    case "text":
      return { type: "text", text: val, ...hints };
    case "resource-link":
      return { ...val, type: "link", ...hints };
    case "resource":
      return { type: "embedded", uri: val.uri, body: val.body.val, mimeType: orNothing(val.mimeType), ...hints };
    default:
      return { type: tag, ...val, ...hints };
  }
}

/** What an error that left a tool is to the host. */
export function toError(error) {
  if (error instanceof errors.InvalidArguments) {
    return { tag: "invalid-arguments", val: error.message };
  }
  if (error instanceof errors.Cancelled) {
    return { tag: "cancelled" };
  }
  if (error instanceof errors.Denied) {
    const { capability, target, remedy } = error;
    return { tag: "denied", val: { capability, target, remedy } };
  }
  if (error instanceof errors.Exhausted) {
    return { tag: "exhausted", val: { budget: error.budget, limit: error.limit } };
  }
  if (error instanceof errors.Unsupported) {
    return { tag: "unsupported", val: error.what };
  }
  return { tag: "failed", val: String(error?.message || error) };
}

const denied = ({ capability, target, remedy }) => new errors.Denied(capability, target, remedy);
const exhausted = ({ budget, limit }) => new errors.Exhausted(budget, Number(limit));

// What every interface has in common.
const COMMON = { denied, exhausted, cancelled: () => new errors.Cancelled() };

const CLIENT = {
  ...COMMON,
  unsupported: (what) => new errors.Unsupported(what),
  ...kinds(errors.ClientError, {
    invalid: (why) => `the question cannot be asked: ${why}`,
    declined: (why) => `the client's side declined the question: ${why}`,
    "not-answered": (why) => `the form was not filled in: ${why}`,
    timeout: (after) => `the client did not answer within ${after} ms`,
    failed: (why) => `the client failed to answer: ${why}`,
  }),
};

const AGENT = {
  ...COMMON,
  "not-supported": (who) => new errors.Unsupported(`agent tools are not supported: ${who}`),
  ...kinds(errors.AgentError, {
    "unknown-tool": (name) => `there is no agent tool \`${name}\``,
    declined: (why) => `declined: ${why}`,
    cycle: (name) => `\`${name}\` is already being called in this chain`,
    timeout: (after) => `no answer within ${after} ms`,
    "invalid-arguments": (why) => `invalid arguments: ${why}`,
    "tool-error": (result) => `the agent tool failed: ${textOf(result.content.map(fromContent))}`,
    failed: (why) => `the agent tool broke: ${why}`,
  }),
};

const STATE = {
  ...COMMON,
  ...kinds(errors.StateError, {
    invalid: (why) => `it cannot be kept or read: ${why}`,
    conflict: () => "somebody else changed it meanwhile",
    failed: (why) => `nothing is kept: ${why}`,
  }),
};

const OUTPUT = {
  ...COMMON,
  closed: () => new errors.Cancelled(),
  invalid: (why) => new errors.OutputError(`the content cannot be sent: ${why}`),
};

const CHECKPOINT = {
  "not-opened": () => new errors.CheckpointError("a call must ask for what was saved before it saves"),
  "too-large": (limit) => new errors.CheckpointError(`a checkpoint has at most ${limit} bytes`),
};

function kinds(Kind, sentences) {
  return Object.fromEntries(Object.entries(sentences).map(([kind, say]) => [kind, (val) => new Kind(kind, say(val))]));
}

function made(work, table) {
  try {
    return work();
  } catch (error) {
    const { tag, val } = error?.payload ?? {};
    throw tag in table ? table[tag](val) : error;
  }
}

function answered(answer) {
  if (answer.tag === "accepted") {
    return answer.val;
  }
  throw answer.tag === "declined" ? new errors.Declined() : new errors.Dismissed();
}

function toSample({ type, text, data, mimeType }) {
  if (type === "text") {
    return { tag: "text", val: text };
  }
  if (type === "image" || type === "audio") {
    return { tag: type, val: { mimeType, data } };
  }
  throw new errors.ClientError("invalid", "the question cannot be asked: a model takes texts, images and audio");
}

function fromSample({ tag, val }) {
  if (tag !== "text" && tag !== "image" && tag !== "audio") {
    throw new errors.ClientError("failed", "the client failed to answer: the model asks for a tool, and was offered none");
  }
  return { audience: [], type: tag, ...(tag === "text" ? { text: val } : val) };
}

export const witHost = (http) => ({
  emit: (content) => Number(made(() => output.emit(content.map(toContent)), OUTPUT)),
  progress: (done, total, message) => progress.report(done, orNull(total), orNull(message)),
  log: (level, message) => log.write(level, message),
  form: (key, message, schema) => answered(made(() => client.elicitForm(orNull(key), { message, schema }), CLIENT)),
  sample(key, asked) {
    const request = {
      messages: asked.messages.map(({ role, content }) => ({ role, content: content.map(toSample) })),
      systemPrompt: orNull(asked.systemPrompt),
      maxTokens: asked.maxTokens,
      temperature: orNull(asked.temperature),
      stopSequences: asked.stop,
      model: { hints: asked.models, cost: null, speed: null, intelligence: null },
      tools: [],
      toolChoice: null,
      purpose: orNull(asked.purpose),
    };
    const answer = made(() => client.sample(orNull(key), request), CLIENT);
    const content = answer.content.map(fromSample);
    return { content, text: textOf(content), model: answer.model, stopReason: orNothing(answer.stopReason) };
  },
  listAgentTools: () => agentTools.listTools().map((tool) => tool.name),
  callAgentTool(name, args, { timeout, purpose, chunks }) {
    const options = { timeoutMs: orNull(timeout), purpose: orNull(purpose), chunks };
    const result = made(() => agentTools.call(name, args, options), AGENT);
    const { tag, val } = result.origin;
    const origin = val === undefined ? tag : `${tag}:${val}`;
    const { structured, edited } = result;
    const content = result.content.map(fromContent);
    return { content, structured: orNothing(structured), origin, private: result.private, edited: orNothing(edited) };
  },
  stateGet(key) {
    const found = made(() => state.get(key), STATE);
    return found ? { value: new Uint8Array(found.value), version: Number(found.version) } : undefined;
  },
  stateSet: (key, value) => Number(made(() => state.set(key, value), STATE)),
  stateSwap: (key, version, value) => Number(made(() => state.swap(key, orNull(version), value), STATE)),
  stateRemove: (key) => made(() => state.remove(key), STATE),
  stateKeys: (prefix, after) => made(() => state.keys(prefix, orNull(after)), STATE),
  restored() {
    const found = checkpoint.restored();
    return found ? new Uint8Array(found) : undefined;
  },
  save: (bytes) => made(() => checkpoint.save(bytes), CHECKPOINT),
  nextMessage: () => orNothing(steering.next()),
  receive(timeout) {
    const { tag, val } = steering.receive(orNull(timeout));
    return tag === "message" ? { message: val } : tag === "ended" ? { ended: true } : { timedOut: true };
  },
  http,
});
