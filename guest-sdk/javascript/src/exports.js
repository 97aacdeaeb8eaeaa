// The component's exports, for the entry that `portcullis build` writes.

import { Denied, NotFound, ToolError } from "./errors.js";
import * as log from "./log.js";
import { Typed } from "./completion.js";
import { NOT_DONE } from "./doubt.js";
import { Response } from "./http-message.js";
import { complete, findResource, PLUGIN, result } from "./plugin.js";
import { drain, Promise } from "./promise.js";
import { decode, encode } from "./utf8.js";
import { toContent, toEmbedded, toError } from "./wit/values.js";

const orNull = (value) => value ?? null;

/** The call's context, with `undefined` for what is not there. `fields` are those of the WIT's record, in its order. */
function contextOf(fields) {
  // By index: to take an array apart is to iterate, which takes longer.
  return {
    id: fields[0],
    principal: fields[1],
    correlationId: fields[2] ?? undefined,
    idempotencyKey: fields[3] ?? undefined,
    deadlineMs: Number(fields[4]),
    traceparent: fields[5] ?? undefined,
  };
}

/** Runs to the end, promises and all. An error is thrown as the WIT has it. */
function run(work, failed = (error) => error) {
  try {
    return Promise.settled(work());
  } catch (error) {
    if (error instanceof NotFound) {
      throw { tag: "not-found" };
    }
    throw failed(thrown(error));
  }
}

/** An error of a tool as the WIT has it. One that the tool did not mean is logged with its place. */
function thrown(caught) {
  const error = caught instanceof ToolError ? caught : (deniedBeneath(caught) ?? caught);
  if (!(error instanceof ToolError)) {
    // The model gets the message; where it happened is for whoever mends it.
    log.debug(`${error?.message}\n${error?.stack ?? ""}`);
  }
  return toError(error);
}

/** Packages wrap what `fetch` throws. A denial stays one. */
function deniedBeneath(error) {
  for (let depth = 0; depth < 8 && error instanceof Error; depth += 1) {
    if (error instanceof Denied) {
      return error;
    }
    error = error.cause;
  }
  return undefined;
}

const missing = (what, name) => ({ tag: "invalid-arguments", val: `there is no ${what} named ${name}` });

const toResult = ({ content, structured, isError }) => [content.map(toContent), orNull(structured), isError];

function toAnswer(returned) {
  if (typeof returned === "string") {
    // Most tools return a text. Each object on the way takes the engine about as long as a small tool computes.
    drain();
    return [[[{ tag: "text", val: returned }, null]], null, false];
  }
  return toResult(result(Promise.settled(returned)));
}

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
    try {
      return toAnswer(tool.answer(contextOf(ctx), args));
    } catch (error) {
      throw thrown(error);
    }
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

export const completions = {
  complete: (ctx, { tag, val }, argument, value, others) =>
    run(async () => {
      const typed = new Typed(value, Object.fromEntries(others), contextOf(ctx));
      const { values, total, hasMore } = await complete(tag === "prompt" ? "prompt" : "resource template", val, argument, typed);
      return { values, total: orNull(total), hasMore };
    }),
};

function effectOf({ tag, val }) {
  if (tag === "http") {
    const headers = val.headers.map(([name, value]) => [name, decode(new Uint8Array(value))]);
    return { type: "http", method: val.method, url: val.url, headers };
  }
  return tag === "agent-tool" ? { type: "agent-tool", name: val.name, args: JSON.parse(val.arguments) } : undefined;
}

async function toVerdict(verdict) {
  if (verdict === undefined || verdict === null) {
    return { tag: "unknown" };
  }
  if (verdict === NOT_DONE) {
    return { tag: "not-done" };
  }
  if (verdict instanceof Response) {
    const headers = [...verdict.headers].map(([name, value]) => [name, encode(value)]);
    return { tag: "done", val: { tag: "http", val: { status: verdict.status, headers, body: await verdict.bytes() } } };
  }
  return { tag: "done", val: { tag: "agent-tool", val: toResult(result(verdict)) } };
}

export const reconcile = {
  reconcile(ctx, tool, args, { step, name, effect }) {
    const find = async () => {
      const doubt = { tool, args: JSON.parse(args), effect: effectOf(effect), step, name, context: contextOf(ctx) };
      return toVerdict(await PLUGIN.finder(doubt));
    };
    try {
      return Promise.settled(find());
    } catch (error) {
      // Who fails does not know. Why is for whoever mends it.
      log.warning(`${error?.message}\n${error?.stack ?? ""}`);
      return { tag: "unknown" };
    }
  },
};
