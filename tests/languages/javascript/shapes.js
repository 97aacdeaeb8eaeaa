// What goes in and out: arguments, structured results, content, errors, and what the call is told of itself.

import {
  audio,
  embedded,
  emit,
  failure,
  image,
  InvalidArguments,
  link,
  log,
  report,
  t,
  text,
  tool,
  ToolError,
  Unsupported,
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
