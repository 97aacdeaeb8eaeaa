// The README's code works: its blocks, one after the other, as one module.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import ts from "../../../target/node/node_modules/typescript/lib/typescript.js";
import { NOT_DONE } from "../src/index.js";
import { Host, Response, ToolUse } from "../src/testing.js";

test("the README works", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const blocks = [...text.matchAll(/```(?:ts|js)\n(.*?)```/gs)].map(([, block]) => block);
  assert.equal(blocks.length, 7);
  const at = (file) => JSON.stringify(new URL(`../src/${file}.js`, import.meta.url).href);
  const imported = new Set();
  // Names that several blocks import are imported once.
  const once = (_, names, from) => {
    const values = names.split(",").filter((name) => !name.trim().startsWith("type "));
    const fresh = values.filter((name) => name.trim() && !imported.has(name.trim()));
    fresh.forEach((name) => imported.add(name.trim()));
    return `import { ${fresh.join(",")} } from ${at(from ? "testing" : "index")};`;
  };
  const joined = blocks.join("\n").replace(/import \{([^}]*)\} from "portcullis-guest(\/testing)?";/g, once);
  const code = ts.transpileModule(joined, { compilerOptions: { target: "esnext", module: "esnext", verbatimModuleSyntax: true } }).outputText;
  const folder = await mkdtemp(join(tmpdir(), "readme-"));
  try {
    const file = join(folder, "readme.mjs");
    await writeFile(file, `import assert from "node:assert/strict";\n${code}`);
    await import(pathToFileURL(file));
  } finally {
    await rm(folder, { recursive: true });
  }
  const host = new Host({ messages: ["a", "b"] });
  assert.equal((await host.call("collect")).text, "a\nb");
  assert.equal((await host.read("guide://city/Oslo"))[0].body, '{"name":"Oslo"}');
  assert.equal((await host.prompt("plan", { city: "Oslo" }))[0].content[0].text, "Plan a day in Oslo, for any mood.");
  assert.deepEqual((await host.complete("plan", "mood", "w")).values, ["wild"]);
  assert.deepEqual((await host.complete("guide://city/{name}", "name", "o")).values, ["Oslo"]);
  const agentTools = { "words.find": ({ word }) => ({ text: `about ${word}` }) };
  const talking = new Host({ agentTools, samples: [new ToolUse("1", "look_up", '{"word":"moat"}'), "A ditch."] });
  assert.equal((await talking.call("explain", { word: "moat" })).text, "A ditch.");
  const asked = new Host({ agentTools, forms: [{ to: "Oslo" }], roots: [{ uri: "file:///a" }] });
  assert.equal((await asked.call("gather", { words: ["a", "b"] })).text, "about a, about b, Oslo, file:///a");
  const routed = await host.call("route", { from: "Oslo", stops: ["Voss", "Bergen"] });
  assert.equal(routed.structured, '{"legs":["Oslo to Voss by train","Voss to Bergen by train"],"price":10}');
  const away = new Host({ http: () => new Response("", { status: 404 }) });
  const effect = { type: "http", method: "POST", url: "https://example.com/", headers: [] };
  assert.equal(await away.reconcile("book", effect), NOT_DONE);
  const result = await host.call("forecast", { place: "Oslo", days: 2 });
  assert.equal(result.structured, '{"place":"Oslo","highs":[21,22]}');
});
