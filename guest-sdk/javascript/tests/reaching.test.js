// What goes further than one call: many questions and calls at once, the model with a tool, suggestions, traces, accounts, doubt.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as guest from "../src/index.js";
import { offers } from "../src/describe.js";
import { DECLINED, DISMISSED, Host, Response, ToolUse } from "../src/testing.js";

const { agentTools, askMany, connections, events, publish, questions, t, tool } = guest;

let count = 0;
/** Runs this within the host, as a tool. */
function run(host, work) {
  let made;
  const name = `work-${(count += 1)}`;
  tool({
    name,
    description: "Works.",
    async run() {
      made = await work();
    },
  });
  return host.call(name).then(() => made);
}

test("calls are made at once, and a failed one stops no other", async () => {
  const fails = () => {
    throw new Error("stuck");
  };
  const host = new Host({ agentTools: { a: ({ n }) => ({ n: n + 1 }), b: fails } });
  const calls = [{ name: "a", args: { n: 1 } }, { name: "b" }, { name: "c" }, { name: "a", args: { n: 3 }, purpose: "to know" }];
  const said = await run(host, () => agentTools.callMany(calls, { settled: true }));
  assert.deepEqual([said[0].value, said[3].value], [{ n: 2 }, { n: 4 }]);
  assert.equal(said[1].reason.kind, "failed");
  assert.ok(said[2].reason instanceof guest.Denied);
  assert.deepEqual(host.agentCalls.map(({ name }) => name), ["a", "b", "a"]);
  await assert.rejects(run(host, () => agentTools.callMany(calls)), /stuck/);
  assert.deepEqual(await run(host, () => agentTools.callMany([])), []);
});

const lookUp = guest.sampleTool({
  name: "look_up",
  description: "Looks a word up.",
  input: { word: t.string("Which word.") },
  run({ word }) {
    if (word === "missing") {
      throw new guest.ToolError("there is no such word");
    }
    return `about ${word}`;
  },
});

async function explain() {
  const talk = [guest.user("What is a gate?")];
  for (;;) {
    const answer = await guest.sample(talk, { tools: [lookUp], toolChoice: "auto", cost: 0.5 });
    if (answer.toolUses.length === 0) {
      return answer.text;
    }
    talk.push(answer.message, await answer.runTools());
  }
}

test("the model uses tools", async () => {
  const uses = [new ToolUse("1", "look_up", '{"word":"moat"}'), new ToolUse("2", "look_up", '{"word":"missing"}')];
  const wrong = [new ToolUse("3", "look_up", '{"word":7}'), new ToolUse("4", "burn", "{}"), new ToolUse("5", "look_up", "{")];
  const host = new Host({ samples: [uses, wrong, "A way in."] });
  assert.equal(await run(host, explain), "A way in.");
  const [first, , last] = host.asked;
  assert.deepEqual([first.toolChoice, first.cost], ["auto", 0.5]);
  assert.deepEqual(JSON.parse(first.tools[0].inputSchema), {
    type: "object",
    properties: { word: { type: "string", description: "Which word." } },
    required: ["word"],
  });
  assert.deepEqual(last.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant", "user"]);
  const told = [last.messages[2], last.messages[4]].flatMap(({ content }) => content);
  const lines = told.map(({ id, content, isError }) => [id, content[0].text, isError]);
  assert.deepEqual(lines.slice(0, 2), [["1", "about moat", false], ["2", "there is no such word", true]]);
  assert.deepEqual(lines.slice(2).map(([, , isError]) => isError), [true, true, true]);
  assert.match(lines[2][1], /does not fit/);
  assert.equal(lines[3][1], "there is no tool named burn");
});

test("a limit ends the call and is not told to the model", async () => {
  const burn = guest.sampleTool({
    name: "burn",
    description: "Burns.",
    run() {
      throw new guest.Exhausted("calls", 3);
    },
  });
  const host = new Host({ samples: [new ToolUse("1", "burn", "{}")] });
  const work = async () => (await guest.sample("Burn.", { tools: [burn] })).runTools();
  await assert.rejects(run(host, work), guest.Exhausted);
});

test("tools without a function are answered by hand", async () => {
  const host = new Host({ samples: [new ToolUse("1", "pick", '{"n":3}')] });
  const pick = guest.sampleTool({ name: "pick", input: { n: t.integer() } });
  const [use] = (await run(host, () => guest.sample("Pick.", { tools: [pick] }))).toolUses;
  assert.deepEqual(use.args, { n: 3 });
  assert.deepEqual([use.succeeded("a").isError, use.failed("no").content[0].text], [false, "no"]);
});

test("several questions are asked at once", async () => {
  const put = () => [
    questions.ask("Who?", { name: t.string() }, { key: "q2" }),
    questions.confirm("Sure?"),
    questions.sample("A wish."),
    questions.openUrl("Look.", "https://example.com/"),
    questions.roots({ key: "where" }),
  ];
  const roots = [{ uri: "file:///repo", name: "repo" }];
  const host = new Host({ forms: [{ name: "Ada" }, {}], samples: ["Luck!"], pages: [true], roots });
  const [person, sure, wish, page, found] = await run(host, () => askMany(put()));
  assert.deepEqual([person, sure, wish.text, page, found], [{ name: "Ada" }, true, "Luck!", undefined, roots]);
  // A chosen key is not taken for another question.
  assert.deepEqual(host.asked.map(({ key }) => key), ["q2", "q2_", "q3", "q4", "where"]);
  const no = () => new Host({ forms: [DECLINED, DISMISSED], samples: ["Luck!"], pages: [DISMISSED], roots: [] });
  const said = await run(no(), () => askMany(put(), { settled: true }));
  assert.ok(said[0].reason instanceof guest.Declined && said[3].reason instanceof guest.Dismissed);
  assert.equal(said[1].value, false);
  await assert.rejects(run(no(), () => askMany(put())), guest.Declined);
  assert.deepEqual(await run(new Host(), () => askMany([])), []);
});

test("pages and roots are asked for", async () => {
  const host = new Host({ pages: [true, DECLINED, false], roots: [{ uri: "file:///a" }] });
  const look = () => guest.openUrl("Look.", "https://example.com/");
  await run(host, look);
  assert.equal(host.asked[0].address, "https://example.com/");
  await assert.rejects(run(host, look), guest.Declined);
  await assert.rejects(run(host, look), guest.Declined);
  assert.deepEqual(await run(host, () => guest.roots()), [{ uri: "file:///a" }]);
  await assert.rejects(run(new Host(), () => guest.roots()), guest.Unsupported);
  const can = { form: false, url: true, sample: false, sampleTools: false, roots: false };
  assert.deepEqual(await run(new Host({ pages: [true] }), () => guest.supported()), can);
});

test("arguments are completed, and what has become of an effect is found out", async () => {
  assert.ok(!offers().includes("completions") && !offers().includes("reconcile"));
  assert.equal(await new Host().reconcile("book", undefined), undefined);
  guest.prompt({
    name: "explain",
    description: "Explains.",
    args: {
      language: { complete: ["English", "Norwegian"] },
      word: {
        required: false,
        complete: async (typed) => typed.matching(typed.others.language === "Norwegian" ? ["borg", "bru"] : ["bridge"]),
      },
    },
    get: ({ language }) => language,
  });
  guest.resourceTemplate({
    uriTemplate: "town://{name}",
    name: "town",
    description: "A town.",
    complete: { name: ({ value }) => Array.from({ length: 150 }, (_, at) => `${value}${at}`) },
    read: ({ name }) => name,
  });
  const host = new Host();
  assert.deepEqual(await host.complete("explain", "language", "nor"), { values: ["Norwegian"], total: 1, hasMore: false });
  assert.deepEqual((await host.complete("explain", "word", "b")).values, ["bridge"]);
  assert.deepEqual((await host.complete("explain", "word", "b", { language: "Norwegian" })).values, ["borg", "bru"]);
  const { values, total, hasMore } = await host.complete("town://{name}", "name", "x");
  assert.deepEqual([values.length, total, hasMore], [100, 150, true]);
  assert.deepEqual(await host.complete("explain", "other", ""), { values: [], total: 0, hasMore: false });
  await assert.rejects(host.complete("nobody", "x", ""), /has no prompt `nobody`/);

  guest.reconcile(async ({ effect, args }) => {
    if (effect?.type === "http") {
      const found = await guest.fetch(effect.url);
      return found.ok ? new guest.Response(await found.text(), { status: 201 }) : guest.NOT_DONE;
    }
    return effect && guest.failure(`${effect.name} for ${args.who}`);
  });
  assert.throws(() => guest.reconcile(() => undefined), /already/);
  assert.deepEqual(offers().slice(-2), ["completions", "reconcile"]);
  const asked = { type: "http", method: "POST", url: "https://example.com/", headers: [] };
  const there = await new Host({ http: () => new Response("booked") }).reconcile("book", asked);
  assert.deepEqual([there.status, await there.text()], [201, "booked"]);
  const away = new Host({ http: () => new Response("", { status: 404 }) });
  assert.equal(await away.reconcile("book", asked), guest.NOT_DONE);
  assert.equal((await away.reconcile("book", { type: "agent-tool", name: "notes.add", args: {} }, { who: "Ada" })).text, "notes.add for Ada");
  assert.equal(await away.reconcile("book", undefined), undefined);
});

test("things are left behind", async () => {
  const host = new Host();
  const said = await run(host, async () => {
    await publish.append("log", "a");
    assert.ok((await publish.append("log", "b")).endsWith("/log"));
    await publish.put("today", "text", { title: "Today", audience: "user", ttl: 60_000 });
    await publish.putPrompt("plan", ["Plan {{day}}.", guest.assistant("Yes.")], { args: ["day"] });
    return [await events.emit("a.b", { n: 1 }, { once: "k" }), await events.emit("a.b", {}, { once: "k" }), await events.emit("a.b")];
  });
  assert.deepEqual(said, [true, false, true]);
  assert.equal(host.resources.log.body, "ab");
  assert.deepEqual([host.resources.today.audience, host.resources.today.ttl], [["user"], 60_000]);
  assert.deepEqual(host.prompts.plan.messages, [{ role: "user", text: "Plan {{day}}." }, { role: "assistant", text: "Yes." }]);
  assert.deepEqual(host.events, [{ name: "a.b", payload: { n: 1 } }, { name: "a.b", payload: null }]);
  await run(host, () => publish.remove("log"));
  await run(host, () => publish.removePrompt("plan"));
  for (const work of [
    () => publish.remove("log"),
    () => publish.removePrompt("plan"),
    () => publish.append("today", new Uint8Array([1])),
    () => publish.putPrompt("a", guest.user(guest.image(new Uint8Array(), "image/png"))),
  ]) {
    await assert.rejects(run(host, work), guest.PublishError);
  }
  await assert.rejects(run(host, () => events.emit("a.b", () => 1)), /cannot be written as JSON/);
});

test("an account is used", async () => {
  const work = async () => {
    if (!(await connections.connected("hub"))) {
      await guest.connect("Connect it.", "hub");
    }
    return (await connections.fetch("hub", "/user", { method: "POST", json: { a: 1 }, headers: { x: "y" } })).json();
  };
  const host = new Host({ connections: { hub: () => new Response('{"login":"ada"}') } });
  assert.deepEqual(await run(host, work), { login: "ada" });
  const { name, method, url, body } = host.accountRequests[0];
  assert.deepEqual([name, method, url, new TextDecoder().decode(body)], ["hub", "POST", "/user", '{"a":1}']);
  await assert.rejects(run(new Host({ connections: { hub: null }, pages: [DECLINED] }), work), guest.Declined);
  await assert.rejects(run(new Host({ connections: { hub: null } }), () => connections.fetch("hub", "/")), /not connected/);
  await assert.rejects(run(new Host(), work), guest.Denied);
});

test("files, variables and the rest of the budget are there", async () => {
  const { env, files, meter } = guest;
  const host = new Host({ files: { "/data/a/b.txt": "b" }, env: { TZ: "UTC" }, fuel: 7 });
  const work = async () => {
    await files.write("/data/c.txt", "gr\u{fc}n");
    const listed = await files.list("/data");
    await files.remove("/data/a/b.txt");
    return [listed, await files.readText("/data/c.txt"), env.get("TZ"), env.get("HOME"), meter.fuelLeft(), meter.deadlineLeft()];
  };
  assert.deepEqual(await run(host, work), [["a", "c.txt"], "gr\u{fc}n", "UTC", undefined, 7, 60_000]);
  assert.deepEqual(host.files, { "/data/c.txt": "gr\u{fc}n" });
  await assert.rejects(run(host, () => files.read("/work/d")), { kind: "no-entry" });
  await assert.rejects(run(new Host(), () => files.read("/work/d")), guest.Denied);
  assert.equal(await run(new Host({ fuel: undefined }), () => meter.fuelLeft()), undefined);
});
