// What a call leaves behind, and accounts, of the real host. In WebAssembly only.

import connections from "portcullis:plugin/connections@0.1.0";
import events from "portcullis:plugin/events@0.1.0";
import publish from "portcullis:plugin/publish@0.1.0";

import * as errors from "./errors.js";
import { Response } from "./http.js";
import { COMMON, kinds, made, orNull, toBody } from "./wit-values.js";

const PUBLISH = {
  ...COMMON,
  ...kinds(errors.PublishError, {
    invalid: (why) => `cannot be published: ${why}`,
    "not-found": () => "nothing is published under this name",
  }),
};

const EVENT = { ...COMMON, ...kinds(errors.EventError, { invalid: (why) => `the event cannot be sent: ${why}` }) };

const ACCOUNT = {
  ...COMMON,
  ...kinds(errors.AccountError, {
    "not-connected": () => "the account is not connected",
    invalid: (why) => `the request cannot be sent: ${why}`,
    timeout: (after) => `no answer within ${after} ms`,
    failed: (why) => `the other server failed: ${why}`,
  }),
};

export const leavingHost = {
  putResource(path, body, { title, description, mimeType, audience, priority, ttl }) {
    const said = { title: orNull(title), description: orNull(description), mimeType: orNull(mimeType) };
    const attributes = { ...said, audience, priority: orNull(priority), ttlMs: orNull(ttl) };
    return made(() => publish.putResource(path, toBody(body), attributes), PUBLISH);
  },
  appendResource: (path, body) => made(() => publish.appendResource(path, toBody(body)), PUBLISH),
  removeResource: (path) => made(() => publish.removeResource(path), PUBLISH),
  putPrompt({ name, title, description, args, messages, ttl }) {
    const prompt = { name, title: orNull(title), description: orNull(description), arguments: args, messages, ttlMs: orNull(ttl) };
    return made(() => publish.putPrompt(prompt), PUBLISH);
  },
  removePrompt: (name) => made(() => publish.removePrompt(name), PUBLISH),
  emitEvent: (name, payload, once) => made(() => events.emit(name, payload, orNull(once)), EVENT),
  connected: (name) => made(() => connections.connected(name), ACCOUNT),
  send(name, { method, url, headers, body }) {
    const answer = made(() => connections.send(name, { method, path: url, headers, body }), ACCOUNT);
    return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers });
  },
};
