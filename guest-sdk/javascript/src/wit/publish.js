// Resources and prompts that a call leaves behind.

import publish from "portcullis:plugin/publish@0.1.0";

import { PublishError } from "../errors.js";
import { provide } from "../host.js";
import { COMMON, kinds, made, orNull, toBody } from "./values.js";

const PUBLISH = {
  ...COMMON,
  ...kinds(PublishError, {
    invalid: (why) => `cannot be published: ${why}`,
    "not-found": () => "nothing is published under this name",
  }),
};

provide({
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
});
