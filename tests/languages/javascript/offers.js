// Resources, a prompt, and suggestions for their arguments.

import { assistant, prompt, resource, resourceTemplate, ToolError, user } from "portcullis-guest";

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
