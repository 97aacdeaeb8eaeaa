// The plugin `polyglot` in JavaScript, as ../README.md specifies it.

import {
  agentTools,
  ask,
  assistant,
  audio,
  checkpoint,
  confirm,
  Declined,
  Dismissed,
  embedded,
  emit,
  failure,
  fetch,
  image,
  InvalidArguments,
  link,
  log,
  prompt,
  report,
  resource,
  resourceTemplate,
  sample,
  state,
  steering,
  t,
  text,
  tool,
  ToolError,
  Unsupported,
  user,
} from "portcullis-guest";

tool({
  name: "greet",
  title: "Greet",
  description: "Greets somebody.",
  readOnly: true,
  idempotent: true,
  openWorld: false,
  input: {
    name: t.string("Whom to greet.").length(1, 40),
    times: t.integer("How often.").range(1, 3).default(1),
    style: t.enum(["plain", "loud"], "How it sounds.").default("plain"),
    title: t.string("What comes before the name.").optional(),
  },
  run({ name, times, style, title }) {
    const line = title ? `Hello, ${title} ${name}!` : `Hello, ${name}!`;
    return Array(times)
      .fill(style === "loud" ? line.toUpperCase() : line)
      .join("\n");
  },
});

const point = t.object({ x: t.integer(), y: t.integer("Upwards."), label: t.string().optional() });

tool({
  name: "measure",
  description: "Measures points.",
  readOnly: true,
  input: {
    points: t.array(point, "At least one.").length(1),
    weights: t.record(t.integer(), "Weights by name."),
    scale: t.number("The unit.").range(0.25).default(0.5),
    named: t.boolean("Whether to name the first point.").default(false),
  },
  output: t.object({
    count: t.integer("How many points."),
    width: t.number(),
    weight: t.integer(),
    labels: t.array(t.string()),
    first: point.optional(),
  }),
  run({ points, weights, scale, named }) {
    const xs = points.map(({ x }) => x);
    return {
      count: points.length,
      width: (Math.max(...xs) - Math.min(...xs)) * scale,
      weight: Object.values(weights).reduce((sum, weight) => sum + weight, 0),
      labels: points.flatMap(({ label }) => label ?? []),
      first: named ? points[0] : null,
    };
  },
});

tool({
  name: "contents",
  description: "Returns content of every kind.",
  run: () => [
    text("text"),
    image(new Uint8Array([1, 2, 3]), "image/png"),
    audio(new Uint8Array([4, 5, 6]), "audio/wav"),
    link("polyglot://about", "about", {
      title: "About",
      description: "What this is.",
      mimeType: "text/plain",
      size: 27,
    }),
    embedded("polyglot://note", "a note", { mimeType: "text/plain" }),
    embedded("polyglot://bytes", new Uint8Array([7, 8])),
  ],
});

tool({
  name: "context",
  description: "Says what the call is told of itself.",
  run: (_, { principal, correlationId = "nothing", idempotencyKey = "nothing", deadlineMs }) =>
    `${principal}, ${correlationId}, ${idempotencyKey}, ${deadlineMs > 0}`,
});

tool({
  name: "stream",
  description: "Sends parts while it runs.",
  input: { count: t.integer("How many.").range(1, 9) },
  async run({ count }) {
    let last;
    for (let part = 1; part <= count; part += 1) {
      log.info(`polyglot sends part ${part}`);
      last = await emit(`part ${part}`);
      report(part, count, `sent ${part}`);
    }
    const both = await emit(text("for you alone", { audience: "user", priority: 0.5 }), "the end");
    return `${last} ${both}`;
  },
});

tool({
  name: "fail",
  description: "Fails in the way that is asked for.",
  input: { how: t.enum(["invalid", "failed", "unsupported", "content", "error"]) },
  async run({ how }) {
    switch (how) {
      case "invalid":
        throw new InvalidArguments("`how` was not wanted");
      case "failed":
        throw new ToolError("it did not work");
      case "unsupported":
        throw new Unsupported("a printer");
      case "content":
        return failure("it went wrong", "twice");
      default:
        throw new Error("an ordinary error");
    }
  },
});

tool({
  name: "order",
  description: "Takes an order.",
  async run() {
    try {
      const form = {
        name: t.string("For whom.").title("Name").length(1, 40),
        email: t.string().format("email"),
        pieces: t.integer().range(1, 9).default(1),
        size: t.enum(["small", "large"]).default("small"),
        gift: t.boolean(),
        note: t.string().optional(),
      };
      const { name, email, pieces, size, gift, note = "nothing" } = await ask("What do you want?", form, { key: "order" });
      return `${pieces} ${size} for ${name} <${email}>, gift: ${gift}, note: ${note}`;
    } catch (error) {
      if (error instanceof Declined) {
        return "declined";
      }
      if (error instanceof Dismissed) {
        return "closed";
      }
      throw error;
    }
  },
});

tool({
  name: "confirm",
  description: "Asks for a yes.",
  destructive: true,
  async run() {
    await confirm("Really?", { key: "sure", orStop: true });
    return "confirmed";
  },
});

tool({
  name: "complete",
  description: "Asks the model.",
  input: { question: t.string() },
  async run({ question }) {
    const answer = await sample(question, {
      systemPrompt: "Answer in one word.",
      maxTokens: 50,
      temperature: 0.5,
      stop: ["\n"],
      models: ["small"],
      purpose: "to know",
      key: "model",
    });
    return `${answer.text} by ${answer.model}, ${answer.stopReason ?? "nothing"}`;
  },
});

tool({
  name: "delegate",
  description: "Calls a tool of the agent.",
  input: {
    tool: t.string(),
    path: t.string().optional(),
    n: t.string("A number, or what the tool refuses.").optional(),
  },
  async run({ tool: name, path, n }) {
    const said = await agentTools.call(name, { path, n: /^\d+$/.test(n ?? "") ? Number(n) : n });
    return `${name} said ${JSON.stringify(said.path)} and ${said.n}`;
  },
});

tool({
  name: "keep",
  description: "Keeps values.",
  input: {
    action: t.enum(["set", "get", "remove", "list", "count"]),
    key: t.string(),
    value: t.string().optional(),
  },
  async run({ action, key, value = "" }) {
    switch (action) {
      case "set":
        await state.set(key, value);
        return "kept";
      case "get":
        return (await state.get(key)) ?? "nothing";
      case "remove":
        return (await state.remove(key)) ? "removed" : "nothing";
      case "list":
        return (await state.keys(key)).join(", ");
      default:
        return String(await state.update(key, (count = 0) => count + 1));
    }
  },
});

tool({
  name: "fetch",
  description: "Fetches a page.",
  openWorld: true,
  input: { path: t.string(), body: t.string().optional() },
  output: t.object({
    status: t.integer(),
    kind: t.string().optional(),
    truncated: t.boolean(),
    text: t.string(),
  }),
  async run({ path, body }) {
    const response = await fetch(`http://localhost:8444${path}`, {
      headers: { "x-polyglot": "yes" },
      maxBody: 20,
      ...(body !== undefined && { method: "POST", json: { body } }),
    });
    if (response.status === 500) {
      response.throwForStatus();
    }
    const kind = response.headers.get("content-type");
    return { status: response.status, kind, truncated: response.truncated, text: await response.text() };
  },
});

tool({
  name: "march",
  description: "Marches as it is told.",
  execution: "task-only",
  input: { steps: t.integer().range(1, 9) },
  async run({ steps }) {
    const march = (await checkpoint.restored()) ?? { said: [] };
    while (march.said.length < steps) {
      await emit(`at step ${march.said.length}`);
      const { message } = await steering.receive();
      if (message === undefined) {
        break;
      }
      if (message === "halt") {
        return `halted after ${march.said.join(", ")}`;
      }
      march.said.push(message);
      await checkpoint.save(march);
    }
    return march.said.join(", ");
  },
});

tool({
  name: "listen",
  description: "Listens for a moment.",
  async run() {
    const first = steering.next() ?? "nothing";
    const { message, ended } = await steering.receive(1);
    return `${first}, ${message ?? (ended ? "ended" : "timed out")}`;
  },
});

resource({
  uri: "polyglot://about",
  name: "about",
  description: "What this plugin is.",
  mimeType: "text/plain",
  read: () => "One plugin, many languages.",
});

resourceTemplate({
  uriTemplate: "polyglot://word/{word}",
  name: "word",
  description: "A word.",
  mimeType: "application/json",
  read({ word }) {
    switch (word) {
      case "missing":
        return undefined;
      case "broken":
        throw new ToolError("this word is broken");
      default:
        return { word, length: [...word].length };
    }
  },
});

prompt({
  name: "review",
  title: "Review",
  description: "Reviews code.",
  args: { language: "Such as `rust`.", focus: { required: false } },
  get: ({ language, focus = "everything" }) => [
    user(`Review this ${language}, above all ${focus}.`),
    assistant("Show it to me."),
  ],
});
