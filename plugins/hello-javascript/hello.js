// The tools `greet` and `fetch` in JavaScript.

import { emit, fetch, log, t, tool, ToolError } from "portcullis-guest";

// What a call reads of an answer at most.
const MOST = 64 << 10;

tool({
  name: "greet",
  title: "Greet",
  description: "Says hello, from JavaScript.",
  readOnly: true,
  idempotent: true,
  openWorld: false,
  input: { name: t.string("Whom to greet.") },
  async run({ name }) {
    log.info(`greeting ${name}`);
    await emit(`looking for ${name} ...`);
    return `Hello, ${name}!`;
  },
});

tool({
  name: "fetch",
  title: "Fetch",
  description: "Fetches a page over https, from JavaScript.",
  readOnly: true,
  idempotent: true,
  openWorld: true,
  input: { url: t.string("Such as https://example.com/page.") },
  async run({ url }) {
    if (!url.startsWith("https://")) {
      throw new ToolError("only https is fetched");
    }
    const answer = await fetch(url, { maxBody: MOST });
    return `${answer.status} ${await answer.text()}`;
  },
});
