// The plugin `polyglot` in JavaScript, as ../README.md specifies it.

import {
  agentTools,
  ask,
  askMany,
  assistant,
  audio,
  checkpoint,
  confirm,
  connect,
  connections,
  Declined,
  Dismissed,
  embedded,
  emit,
  env,
  events,
  failure,
  fetch,
  files,
  image,
  InvalidArguments,
  link,
  log,
  meter,
  NOT_DONE,
  openUrl,
  prompt,
  publish,
  questions,
  reconcile,
  report,
  resource,
  resourceTemplate,
  Response,
  sample,
  sampleTool,
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

tool({
  name: "gather",
  description: "Calls tools of the agent at once.",
  input: { tools: t.array(t.string()) },
  async run({ tools }) {
    const calls = tools.map((name, at) => ({ name, args: { path: name, n: at + 1 } }));
    const said = await agentTools.callMany(calls, { settled: true });
    return said.map(({ value, reason }) => (value ? `${JSON.stringify(value.path)} and ${value.n}` : reason.message)).join("\n");
  },
});

const lookUp = sampleTool({
  name: "look_up",
  description: "Looks a word up.",
  input: { word: t.string("Which word.") },
  run({ word }) {
    if (word === "missing") {
      throw new ToolError("there is no such word");
    }
    return `${word}: ${[...word].length} letters`;
  },
});

tool({
  name: "explain",
  description: "Explains a word, with a tool for the model.",
  input: { word: t.string() },
  async run({ word }) {
    const talk = [user(`Explain ${word}.`)];
    for (let uses = 0; ; ) {
      const answer = await sample(talk, { maxTokens: 50, tools: [lookUp], toolChoice: "auto", key: `after ${uses}` });
      if (answer.toolUses.length === 0) {
        return `${answer.text}, after ${uses}`;
      }
      uses += answer.toolUses.length;
      talk.push(answer.message, await answer.runTools());
    }
  },
});

tool({
  name: "interview",
  description: "Asks several questions at once.",
  async run() {
    const answers = await askMany(
      [
        questions.ask("Who are you?", { name: t.string() }, { key: "who" }),
        questions.confirm("Really?", { key: "sure" }),
        questions.sample("Write a wish.", { maxTokens: 20, key: "wish" }),
        questions.roots({ key: "where" }),
      ],
      { settled: true },
    );
    const [{ value: person, reason }, sure, wish, roots] = answers;
    const name = person?.name ?? (reason instanceof Declined ? "declined" : "closed");
    return `${name}, ${sure.value}, ${wish.value.text}, ${roots.value[0]?.uri ?? "nowhere"}`;
  },
});

tool({
  name: "visit",
  description: "Asks to open a page.",
  async run() {
    try {
      await openUrl("Look at this.", "https://example.com/page", { key: "page" });
      return "opened";
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
  name: "account",
  description: "Uses an account.",
  input: { path: t.string(), body: t.string().optional() },
  async run({ path, body }) {
    if (!(await connections.connected("service"))) {
      await connect("Connect the service.", "service", { key: "service" });
    }
    const posted = body !== undefined && { method: "POST", json: { body } };
    const response = await connections.fetch("service", path, { headers: { "x-kind": "person" }, ...posted });
    return `${response.throwForStatus().status} ${await response.text()}`;
  },
});

tool({
  name: "leave",
  description: "Leaves something behind.",
  input: {
    action: t.enum(["put", "append", "remove", "prompt", "forget"]),
    path: t.string(),
    text: t.string().optional(),
  },
  async run({ action, path, text: words = "" }) {
    const about = { title: "Left", description: "What was left.", ttl: 60_000 };
    switch (action) {
      case "put":
        return publish.put(path, words, { ...about, mimeType: "text/markdown", audience: "user", priority: 0.5 });
      case "append":
        return publish.append(path, words);
      case "remove":
        await publish.remove(path);
        return "removed";
      case "prompt":
        await publish.putPrompt(path, [words, assistant("Yes.")], { ...about, args: ["line"] });
        return "left";
      default:
        await publish.removePrompt(path);
        return "forgotten";
    }
  },
});

tool({
  name: "announce",
  description: "Announces an event.",
  input: { name: t.string(), text: t.string(), key: t.string("Announced only once.").optional() },
  async run({ name, text: words, key }) {
    return (await events.emit(name, { text: words }, { once: key })) ? "announced" : "announced before";
  },
});

tool({
  name: "budget",
  description: "Says whether anything is left.",
  run: () => `${meter.fuelLeft() > 0}, ${meter.deadlineLeft() > 0}`,
});

tool({
  name: "files",
  description: "Uses files.",
  input: { action: t.enum(["write", "read", "list"]), path: t.string(), text: t.string().optional() },
  async run({ action, path, text: words = "" }) {
    switch (action) {
      case "write":
        await files.write(path, words);
        return "written";
      case "read":
        return files.readText(path).catch((error) => {
          if (error.kind === "no-entry") {
            return "nothing";
          }
          throw error;
        });
      default:
        return (await files.list(path)).join(", ");
    }
  },
});

tool({
  name: "variable",
  description: "Reads a variable.",
  input: { name: t.string() },
  run: ({ name }) => env.get(name) ?? "nothing",
});

tool({
  name: "reserve",
  description: "Reserves a place.",
  execution: "may-run-long",
  input: { name: t.string() },
  async run({ name }) {
    const response = await fetch(`http://localhost:8444/v1/place/${name}`, { method: "POST", json: { name } });
    return `${response.status} ${await response.text()}`;
  },
});

reconcile(async ({ tool: name, args, effect }) => {
  if (name !== "reserve" || effect?.type !== "http" || effect.method !== "POST" || args.name === "lost") {
    return undefined;
  }
  const found = await fetch(effect.url);
  if (found.status === 404) {
    return NOT_DONE;
  }
  return found.ok ? new Response(await found.bytes(), { status: 201, headers: { "content-type": "text/plain" } }) : undefined;
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
  complete: { word: ["alpha", "Alps", "beta"] },
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
  args: {
    language: { description: "Such as `rust`.", complete: ["go", "python", "ruby", "rust"] },
    focus: {
      required: false,
      complete: (typed) => typed.matching(typed.others.language === "rust" ? ["borrowing", "speed"] : ["speed", "style"]),
    },
  },
  get: ({ language, focus = "everything" }) => [
    user(`Review this ${language}, above all ${focus}.`),
    assistant("Show it to me."),
  ],
});
