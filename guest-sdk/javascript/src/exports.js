// The component's exports, for the entry that `portcullis build` writes.

import { NotFound, ToolError } from "./errors.js";
import * as log from "./log.js";
import { findResource, PLUGIN } from "./plugin.js";
import { Promise } from "./promise.js";
import { toContent, toEmbedded, toError } from "./wit.js";

const orNull = (value) => value ?? null;

const contextOf = ({ id, principal, correlationId, idempotencyKey, deadlineMs, traceparent }) => ({
  id,
  principal,
  correlationId: correlationId ?? undefined,
  idempotencyKey: idempotencyKey ?? undefined,
  deadlineMs: Number(deadlineMs),
  traceparent: traceparent ?? undefined,
});

/** Runs to the end, promises and all. An error is thrown as the WIT has it. */
function run(work, failed = (error) => error) {
  try {
    return Promise.settled(work());
  } catch (error) {
    if (error instanceof NotFound) {
      throw { tag: "not-found" };
    }
    if (!(error instanceof ToolError)) {
      // The model gets the message; where it happened is for whoever mends it.
      log.debug(`${error?.message}\n${error?.stack ?? ""}`);
    }
    throw failed(toError(error));
  }
}

const missing = (what, name) => ({ tag: "invalid-arguments", val: `there is no ${what} named ${name}` });

export const tools = {
  listTools: () =>
    [...PLUGIN.tools.values()].map((tool) => ({
      name: tool.name,
      title: orNull(tool.title),
      description: tool.description,
      inputSchema: tool.inputSchema,
      outputSchema: orNull(tool.outputSchema),
      annotations: {
        readOnly: orNull(tool.readOnly),
        destructive: orNull(tool.destructive),
        idempotent: orNull(tool.idempotent),
        openWorld: orNull(tool.openWorld),
      },
      execution: tool.execution,
      icons: [],
    })),

  callTool(ctx, name, args) {
    const tool = PLUGIN.tools.get(name);
    if (!tool) {
      throw missing("tool", name);
    }
    return run(async () => {
      const { content, structured, isError } = await tool.call(contextOf(ctx), args);
      return { content: content.map(toContent), structured: orNull(structured), isError };
    });
  },
};

const infoOf = ({ name, title, description, mimeType }) => ({
  name,
  title: orNull(title),
  description: orNull(description),
  mimeType: orNull(mimeType),
  annotations: null,
  icons: [],
});

export const resources = {
  listResources: () => [...PLUGIN.resources.values()].map((one) => ({ uri: one.uri, size: null, ...infoOf(one) })),
  listTemplates: () => [...PLUGIN.templates.values()].map((one) => ({ uriTemplate: one.uriTemplate, ...infoOf(one) })),
  readResource: (ctx, uri) =>
    run(
      async () => (await findResource(uri).get(contextOf(ctx), uri)).map(toEmbedded),
      (error) => ({ tag: "failed", val: error }),
    ),
};

export const prompts = {
  listPrompts: () =>
    [...PLUGIN.prompts.values()].map(({ name, title, description, declared }) => ({
      name,
      title: orNull(title),
      description: orNull(description),
      arguments: declared.map((one) => ({ ...one, title: orNull(one.title), description: orNull(one.description) })),
      icons: [],
    })),

  getPrompt(ctx, name, args) {
    const prompt = PLUGIN.prompts.get(name);
    if (!prompt) {
      throw missing("prompt", name);
    }
    return run(async () => {
      const said = await prompt.call(contextOf(ctx), Object.fromEntries(args));
      const messages = said.flatMap(({ role, content }) => content.map((one) => ({ role, content: toContent(one) })));
      return { description: null, messages };
    });
  },
};
