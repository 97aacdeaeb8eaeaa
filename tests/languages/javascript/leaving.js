// Resources, prompts and events that a call leaves behind.

import { assistant, events, publish, t, tool } from "portcullis-guest";

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
