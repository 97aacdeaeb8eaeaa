// Questions to the client.

import client from "portcullis:plugin/client@0.1.0";

import * as errors from "../errors.js";
import { provide } from "../host.js";
import { SampleAnswer, ToolUse } from "../sampling.js";
import { COMMON, fromContent, kinds, made, orNothing, orNull, toContent } from "./values.js";

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

function toSample(one) {
  const { type, text, data, mimeType, id, name, input, content, structured, isError } = one;
  switch (type) {
    case "text":
      return { tag: "text", val: text };
    case "image":
    case "audio":
      return { tag: type, val: { mimeType, data } };
    case "tool-use":
      return { tag: "tool-use", val: { id, name, input } };
    case "tool-outcome":
      return { tag: "tool-result", val: { id, content: content.map(toContent), structured: orNull(structured), isError } };
    default:
      throw new errors.ClientError("invalid", "the question cannot be asked: a model takes texts, images and audio");
  }
}

function fromSample({ tag, val }) {
  switch (tag) {
    case "text":
      return { audience: [], type: tag, text: val };
    case "tool-use":
      return new ToolUse(val.id, val.name, val.input);
    case "tool-result":
      return { ...val, type: "tool-outcome", content: val.content.map(fromContent), structured: orNothing(val.structured) };
    default:
      return { audience: [], type: tag, ...val };
  }
}

const toRequest = (asked) => ({
  messages: asked.messages.map(({ role, content }) => ({ role, content: content.map(toSample) })),
  systemPrompt: orNull(asked.systemPrompt),
  maxTokens: asked.maxTokens,
  temperature: orNull(asked.temperature),
  stopSequences: asked.stop,
  model: { hints: asked.models, cost: orNull(asked.cost), speed: orNull(asked.speed), intelligence: orNull(asked.intelligence) },
  tools: asked.tools.map(({ name, description, inputSchema }) => ({ name, description: orNull(description), inputSchema })),
  toolChoice: orNull(asked.toolChoice),
  purpose: orNull(asked.purpose),
});

function toUrl({ message, address, connection }) {
  return { message, target: connection === undefined ? { tag: "address", val: address } : { tag: "connect", val: connection } };
}

const no = (answer) => (answer === "declined" ? new errors.Declined() : new errors.Dismissed());

// By the type of a question: how it is put alone, what is put, and how the answer is read.
const KINDS = {
  form: {
    alone: (key, form) => client.elicitForm(key, form),
    put: ({ message, schema }) => ({ message, schema }),
    read: ({ tag, val }) => (tag === "accepted" ? val : no(tag)),
  },
  url: {
    alone: (key, url) => client.elicitUrl(key, url),
    put: toUrl,
    read: (consent) => (consent === "accepted" ? undefined : no(consent)),
  },
  sample: {
    alone: (key, request) => client.sample(key, request),
    put: toRequest,
    read: ({ content, model, stopReason }, { tools }) =>
      new SampleAnswer(content.map(fromSample), model, orNothing(stopReason), tools),
  },
  roots: {
    alone: (key) => client.listRoots(key),
    put: () => undefined,
    read: (roots) => roots.map(({ uri, name }) => ({ uri, name: orNothing(name) })),
  },
};

provide({
  ask(key, question) {
    const { alone, put, read } = KINDS[question.type];
    const asked = put(question);
    return read(made(() => alone(orNull(key), asked), CLIENT), question);
  },
  askMany(keyed) {
    const asked = keyed.map(([key, question]) => ({ key, question: { tag: question.type, val: KINDS[question.type].put(question) } }));
    const answers = made(() => client.askMany(asked), CLIENT);
    return answers.map(({ tag, val }, at) => KINDS[tag].read(val, keyed[at][1]));
  },
  supported: () => ({ ...client.supported() }),
});
