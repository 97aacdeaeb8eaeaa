// What becomes of functions: schemas, results, errors, with the fake host.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as guest from "../src/index.js";
import { DECLINED, DISMISSED, Host, Response } from "../src/testing.js";

const { emit, t, tool } = guest;

const point = t.object({ x: t.integer(), y: t.number("Upwards.").default(0.5), label: t.string().optional() });
const everything = tool({
  name: "everything",
  description: "Takes everything.",
  input: {
    name: t.string("A name.").length(1, 9),
    points: t.array(point).length(1),
    word: t.enum(["a", "b"]).optional(),
    byName: t.record(t.integer()).optional(),
  },
  output: point,
  async run({ name, points, word, byName }, { principal }) {
    await emit(`${principal} ${name} ${word} ${JSON.stringify(byName)}`);
    return points[0];
  },
});

test("the schema says what the function takes", () => {
  const item = {
    type: "object",
    properties: {
      x: { type: "integer" },
      y: { type: "number", description: "Upwards.", default: 0.5 },
      label: { type: ["string", "null"] },
    },
    required: ["x"],
  };
  assert.deepEqual(JSON.parse(everything.inputSchema), {
    type: "object",
    properties: {
      name: { type: "string", description: "A name.", minLength: 1, maxLength: 9 },
      points: { type: "array", minItems: 1, items: item },
      word: { type: ["string", "null"], enum: ["a", "b", null] },
      byName: { type: ["object", "null"], additionalProperties: { type: "integer" } },
    },
    required: ["name", "points"],
    additionalProperties: false,
  });
  assert.deepEqual(JSON.parse(everything.outputSchema).required, ["x", "y", "label"]);
  assert.equal(JSON.parse(everything.outputSchema).properties.y.default, undefined);
});

test("arguments have their defaults, and the result is compact JSON", async () => {
  const host = new Host();
  const result = await host.call(everything, { name: "Ädä", points: [{ x: 3 }], word: null, byName: { b: 2 } });
  assert.equal(result.structured, '{"x":3,"y":0.5}');
  assert.equal(result.text, result.structured);
  assert.deepEqual(host.chunkTexts, ['local Ädä undefined {"b":2}']);
  for (const [args, said] of [
    [{ points: [] }, "`name` is null, which does not fit"],
    [{ name: 1, points: [] }, "`name` is 1, which does not fit"],
    [{ name: "a", points: [{ x: 1.5 }] }, "`points`[0].x is 1.5, which does not fit"],
  ]) {
    await assert.rejects(host.call("everything", args), new guest.InvalidArguments(said));
  }
});

test("mistakes are said when the function is offered", () => {
  const run = () => {};
  for (const [offer, said] of [
    [{ name: "a b", description: "x", run }, /is not a name/],
    [{ name: "a", run }, /needs a description/],
    [{ name: "a", description: "x" }, /needs a function/],
    [{ name: "everything", description: "x", run }, /there is `everything` already/],
    [{ name: "a", description: "x", run, output: t.string() }, /must be an object/],
  ]) {
    assert.throws(() => tool(offer), said);
  }
});

const book = tool({
  name: "book",
  description: "Books a trip.",
  async run() {
    const trip = { to: t.string("A city."), nights: t.integer().range(1, 14).default(3), extras: t.array(t.enum(["bed"])).optional() };
    const { to, nights } = await guest.ask("Where to?", trip, { key: "trip" });
    if (!(await guest.confirm(`${nights} nights in ${to}?`))) {
      return "nothing was booked";
    }
    return (await guest.sample([guest.user("Wish well."), guest.assistant("I")], { maxTokens: 5 })).text;
  },
});

test("questions are answered in order", async () => {
  const host = new Host({ forms: [{ to: "Oslo" }, {}], samples: ["Enjoy!"] });
  assert.equal((await host.call(book)).text, "Enjoy!");
  assert.deepEqual(
    host.asked.slice(0, 2).map(({ message }) => message),
    ["Where to?", "3 nights in Oslo?"],
  );
  assert.deepEqual(host.asked[0].schema.required, ["to"]);
  assert.deepEqual(host.asked[0].schema.properties.extras, { type: "array", items: { type: "string", enum: ["bed"] } });
  assert.equal((await new Host({ forms: [{ to: "Oslo" }, DISMISSED] }).call(book)).text, "nothing was booked");
  await assert.rejects(new Host({ forms: [DECLINED] }).call(book), guest.Declined);
  await assert.rejects(new Host().call(book), new guest.Unsupported("elicitation.form"));
});

const outside = tool({
  name: "outside",
  description: "Asks others.",
  input: { url: t.string() },
  async run({ url }) {
    const said = await guest.agentTools.call("notes.add", { text: url }, { purpose: "to keep it" });
    const options = { method: "post", json: { ä: said.path }, headers: { X: "y" }, maxBody: 4 };
    const answer = (await guest.fetch(url, options)).throwForStatus();
    const visits = await guest.state.update("visits", (count = 0) => count + 1);
    await guest.state.save("last", { url });
    guest.log.warning(`${visits} of ${await guest.state.keys()}`);
    guest.report(1, 2);
    return answer.text();
  },
});

test("what goes outside is recorded and answered", async () => {
  const host = new Host({
    agentTools: { "notes.add": ({ text }) => ({ path: `/${text}` }) },
    http: () => new Response("answer"),
    values: { visits: "6" },
  });
  assert.equal((await host.call(outside, { url: "https://a/b?c" })).text, "answ");
  const [{ method, headers, body }] = host.requests;
  assert.deepEqual([method, headers], ["POST", [["content-type", "application/json"], ["x", "y"]]]);
  assert.equal(Buffer.from(body).toString(), '{"ä":"/https://a/b?c"}');
  assert.deepEqual(host.values, { visits: "7", last: '{"url":"https://a/b?c"}' });
  assert.deepEqual(host.records, [{ level: "warning", message: "7 of last,visits" }]);
  host.http = () => new Response("", { status: 404 });
  await assert.rejects(host.call(outside, { url: "https://a" }), /status 404/);
  await assert.rejects(new Host().call(outside, { url: "https://a" }), /agent-tools does not allow `notes.add`/);
});

const listen = tool({
  name: "listen",
  description: "Listens.",
  async run() {
    const heard = (await guest.checkpoint.restored()) ?? [];
    for await (const message of guest.steering.messages()) {
      heard.push(message);
      await emit(message);
      await guest.checkpoint.save(heard);
    }
    return heard.join(" ");
  },
});

test("a long call goes on from its checkpoint, and stops when it is cancelled", async () => {
  const host = new Host({ messages: ["two", "three"], checkpoint: ["one"] });
  assert.equal((await host.call(listen)).text, "one two three");
  assert.deepEqual(host.saved.at(-1), ["one", "two", "three"]);
  const cancelled = new Host({ messages: ["one"] });
  cancelled.closed = true;
  await assert.rejects(cancelled.call(listen), guest.Cancelled);
});

test("resources and prompts are found by URI and name", async () => {
  guest.resource({ uri: "guide://all", name: "all", description: "All.", mimeType: "text/plain", read: () => "Oslo" });
  guest.resourceTemplate({
    uriTemplate: "guide://{city}-{number}.md",
    name: "guide",
    description: "A guide.",
    read: ({ city, number }) => (city === "Paris" ? undefined : { city, number }),
  });
  guest.prompt({ name: "plan", description: "Plans.", args: { city: "Where." }, get: ({ city }) => `Plan ${city}.` });
  const host = new Host();
  assert.equal((await host.read("guide://all"))[0].body, "Oslo");
  const [found] = await host.read("guide://Troms%C3%B8-7-8.md");
  assert.deepEqual([found.body, found.mimeType], ['{"city":"Tromsø","number":"7-8"}', "application/json"]);
  for (const missing of ["guide://Paris-1.md", "guide://a/b-1.md", "guide://%zz-1.md", "guide://"]) {
    await assert.rejects(host.read(missing), guest.NotFound);
  }
  assert.equal((await host.prompt("plan", { city: "Oslo" }))[0].content[0].text, "Plan Oslo.");
});
