// Resources and prompts that a call leaves behind. Each belongs to the principal of the call, and goes when its time is up or the
// host restarts. The manifest requests it, `"publish": true`, and the operator grants it.

import "#wit/publish";

import { PublishError } from "./errors.js";
import { host } from "./host.js";
import { user } from "./sampling.js";

/**
 * Creates or replaces a resource of text or bytes. Its URI. `path` are words of letters, digits, `.`, `_` and `-` with `/` between them.
 * It stays `ttl` milliseconds, by default as long as the operator allows.
 */
export async function put(path, body, { title, description, mimeType, audience = [], priority, ttl } = {}) {
  const roles = typeof audience === "string" ? [audience] : audience;
  return host().putResource(path, body, { title, description, mimeType, audience: roles, priority, ttl });
}

/** Adds to a resource of the same kind, text or bytes, or creates one. Its URI. */
export const append = async (path, body) => host().appendResource(path, body);

/** Removes a resource. */
export const remove = async (path) => host().removeResource(path);

/**
 * Creates or replaces a prompt of texts; `{{name}}` in them stands for the value of an argument. Clients see it as `<plugin>__<name>`.
 */
export async function putPrompt(name, messages, { args = [], title, description, ttl } = {}) {
  const all = (Array.isArray(messages) ? messages : [messages]).map((one) => (one.role ? one : user(one)));
  const texts = all.flatMap(({ role, content }) => content.map(({ text }) => ({ role, text })));
  if (texts.some(({ text }) => text === undefined)) {
    throw new PublishError("invalid", "cannot be published: the messages of a prompt are texts");
  }
  return host().putPrompt({ name, title, description, args, messages: texts, ttl });
}

/** Removes a prompt. */
export const removePrompt = async (name) => host().removePrompt(name);
