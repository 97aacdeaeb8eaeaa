// Questions to the user and the model.

import {
  ask,
  askMany,
  confirm,
  Declined,
  Dismissed,
  openUrl,
  questions,
  sample,
  sampleTool,
  t,
  tool,
  ToolError,
  user,
} from "portcullis-guest";

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
