/** Lane `retry`: every outcome, through the SDK's client and a server in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type Call, type ClientToolsOptions, ToolError, clientTools, currentCall, tool } from "../src/index.js";
import type { JsonObject } from "../src/index.js";
import { FakeServer, RpcError, call, meta, newer, said, until, wanted } from "./fake.js";

const KEY = "dev.portcullis/client-tools";
const anything = { type: "object" };

/** A server whose tool wants these calls once. */
function once(calls: JsonObject): FakeServer {
  return new FakeServer({ "tools/call": (params) => (KEY in meta(params) ? said("done") : wanted(calls)) });
}

async function connected(server: FakeServer, options: ClientToolsOptions) {
  const tools = clientTools(options);
  const peer = newer("auto", tools.extensions);
  await peer.connect(tools.over(server));
  return { ...peer, tools };
}

interface Answered {
  content?: { text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
  error?: { code: string; message: string };
  _meta?: JsonObject;
}

/** What the client answers to these calls. */
async function results(calls: JsonObject, options: ClientToolsOptions): Promise<Record<string, Answered>> {
  const server = once(calls);
  const peer = await connected(server, options);
  const result = await peer.call("plan_day", { day: "monday" });
  assert.deepEqual(result.content, [{ type: "text", text: "done" }]);
  await peer.close();
  return (meta(server.requests("tools/call")[1])[KEY] as { results: Record<string, Answered> }).results;
}

function codes(answered: Record<string, Answered>): JsonObject {
  return Object.fromEntries(Object.entries(answered).map(([key, outcome]) => [key, outcome.error?.code ?? null]));
}

test("makes the same request again, with the outcomes", async () => {
  const days: string[] = [];
  const free = tool<{ day: string }>({
    name: "free",
    description: "Free time.",
    inputSchema: { type: "object", properties: { day: { type: "string" } }, required: ["day"] },
    annotations: { readOnlyHint: true },
    private: true,
    maxCalls: 5,
    run: ({ day }) => ({ n: days.push(day) }),
  });
  const server = once({ a: call("free", { day: "mon" }), b: call("free", { day: "tue" }) });
  const peer = await connected(server, { tools: [free] });
  await peer.call("plan_day", { n: 1 }, { "dev.portcullis/correlationId": "trip" });
  const [first, second] = server.requests("tools/call");
  assert.equal(second?.name, "plan_day");
  assert.deepEqual(second.arguments, { n: 1 });
  assert.equal(meta(second)["dev.portcullis/correlationId"], "trip");
  assert.deepEqual(meta(second)["io.modelcontextprotocol/clientCapabilities"], meta(first)["io.modelcontextprotocol/clientCapabilities"]);
  const again = meta(second)[KEY] as { continuation: string; results: Record<string, Answered> };
  assert.equal(again.continuation, "sealed");
  assert.deepEqual(again.results.a, { content: [{ type: "text", text: '{"n":1}' }], structuredContent: { n: 1 } });
  assert.deepEqual(days.sort(), ["mon", "tue"]);
  const ids = server.asked.filter(({ method }) => method === "tools/call").map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
  const { extensions } = server.capabilities as { extensions: Record<string, JsonObject> };
  assert.deepEqual(extensions[KEY], {
    allowServerCalls: true,
    tools: [
      {
        name: "free",
        description: "Free time.",
        inputSchema: { type: "object", properties: { day: { type: "string" } }, required: ["day"] },
        annotations: { readOnlyHint: true },
        private: true,
        limits: { calls: 5 },
      },
    ],
    lanes: ["retry", "request"],
    limits: { calls: 100, parallel: 4, argumentBytes: 65536 },
  });
  await peer.close();
});

test("every failure is an outcome", async () => {
  const logged: unknown[] = [];
  const tools = [
    tool({ name: "breaks", inputSchema: anything, run: () => assert.fail("/etc/passwd is not readable") }),
    tool({ name: "saysNo", inputSchema: anything, run: () => Promise.reject(new ToolError("the calendar is closed")) }),
    tool({ name: "slow", inputSchema: anything, run: () => new Promise(() => {}) }),
    tool({ name: "takes", inputSchema: { type: "object", properties: { text: { type: "string" } } }, run: () => "" }),
  ];
  const answered = await results(
    {
      unknown: call("nothing"),
      broken: call("breaks"),
      closed: call("saysNo"),
      slow: { ...call("slow"), timeoutMs: 20 },
      wrong: call("takes", { text: 5 }),
      long: call("takes", { text: "x".repeat(100) }),
      malformed: { arguments: 7 },
    },
    { tools, limits: { argumentBytes: 100 }, onerror: (error) => logged.push(error) },
  );
  assert.deepEqual(codes(answered), {
    unknown: "unknown-tool",
    broken: "failed",
    closed: null,
    slow: "timeout",
    wrong: "invalid-arguments",
    long: "invalid-arguments",
    malformed: "failed",
  });
  assert.equal(answered.broken?.error?.message, "the tool failed");
  assert.equal(answered.wrong?.error?.message, "text: must be string");
  assert.equal(answered.closed?.isError, true);
  assert.equal(answered.closed.content?.[0]?.text, "the calendar is closed");
  assert.equal(logged.length, 1);
});

test("approval allows, edits and denies", async () => {
  const days: unknown[] = [];
  const seen: Call[] = [];
  const schema = { type: "object", properties: { day: { type: "string" } } };
  const free = tool<{ day: string }>({ name: "free", inputSchema: schema, run: ({ day }) => (days.push(day), day) });
  const calls = Object.fromEntries(["mon", "tue", "thu", "fri", "sat"].map((day) => [day, call("free", { day })]));
  const answered = await results(calls, {
    tools: [free],
    onerror: () => {},
    approve: async (wanting) => {
      seen.push(wanting);
      if (wanting.arguments.day === "mon") return "allow";
      if (wanting.arguments.day === "tue") return { edit: { day: "wed" } };
      if (wanting.arguments.day === "thu") return { deny: "the user said no" };
      if (wanting.arguments.day === "fri") return { edit: { day: 5 } };
      throw new Error("no idea");
    },
  });
  assert.deepEqual(days.sort(), ["mon", "wed"]);
  assert.equal(answered.mon?._meta, undefined);
  assert.deepEqual(answered.tue?._meta, { "dev.portcullis/edited": { day: "wed" } });
  assert.deepEqual(answered.thu?.error, { code: "declined", message: "the user said no" });
  assert.equal(answered.fri?.error?.code, "invalid-arguments");
  assert.equal(answered.sat?.error?.code, "declined");
  assert.deepEqual(
    [seen[0]?.plugin, seen[0]?.tool, seen[0]?.purpose, seen[0]?.timeout],
    ["planner", "plan_day", "find a free hour", 5000],
  );
});

test("limits hold: in all, of one tool, at once", async () => {
  let [running, most] = [0, 0];
  const run = async () => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
  };
  const answered = await results(
    { w0: call("work"), w1: call("work"), r0: call("rare"), r1: call("rare"), w2: call("work"), w3: call("work"), w4: call("work") },
    {
      tools: [tool({ name: "work", inputSchema: anything, run }), tool({ name: "rare", inputSchema: anything, maxCalls: 1, run })],
      limits: { calls: 5, parallel: 2 },
    },
  );
  assert.deepEqual(codes(answered), { w0: null, w1: null, r0: null, r1: "exhausted", w2: null, w3: null, w4: "exhausted" });
  assert.equal(most, 2);
});

test("only what is allowed is declared", async () => {
  const of = (name: string) => tool({ name, inputSchema: anything, run: () => name });
  const options = { tools: [of("calendar.free"), of("mail.send"), of("calendarXfree")], allow: ["calendar.*"] };
  assert.deepEqual([...clientTools(options).tools.keys()], ["calendar.free"]);
  const answered = await results({ a: call("mail.send"), b: call("calendar.free") }, options);
  assert.deepEqual(codes(answered), { a: "unknown-tool", b: null });
});

test("rounds are bounded", async () => {
  const server: FakeServer = new FakeServer({
    "tools/call": () => wanted({ a: call("free") }, `round-${server.requests("tools/call").length}`),
  });
  const peer = await connected(server, { tools: [], maxRounds: 3 });
  await assert.rejects(peer.call("plan_day"), /plan_day still wants something after 3 rounds/);
  const continuations = server.requests("tools/call").map((params) => (meta(params)[KEY] as JsonObject | undefined)?.continuation);
  assert.deepEqual(continuations, [undefined, "round-1", "round-2", "round-3"]);
  await peer.close();
});

test("the server's questions may come between rounds", async () => {
  const server = new FakeServer({
    "tools/call": (params) => {
      if ("inputResponses" in params) {
        assert.equal(KEY in meta(params), false, "a used continuation came again");
        assert.equal(params.requestState, "state");
        return said((params.inputResponses as { ok: { action: string } }).ok.action);
      }
      if (!(KEY in meta(params))) return wanted({ a: call("free") });
      const ask = { method: "elicitation/create", params: { message: "ok?", requestedSchema: { type: "object", properties: {} } } };
      return { resultType: "input_required", inputRequests: { ok: ask }, requestState: "state" };
    },
  });
  const tools = clientTools({ tools: [] });
  const peer = newer("auto", tools.extensions, { elicitation: { form: {} } });
  peer.client.setRequestHandler("elicitation/create", () => ({ action: "decline" as const }));
  await peer.connect(tools.over(server));
  assert.deepEqual((await peer.call("plan_day")).content, [{ type: "text", text: "decline" }]);
  await peer.close();
});

test("a call back belongs to the chain, one to another server does not", async () => {
  const small = (answer: FakeServer["answers"][string]): FakeServer["answers"][string] => (params, server) =>
    params.name === "small" ? said("small") : answer(params, server);
  const server = once({ a: call("back") });
  const before = server.answers["tools/call"];
  assert.ok(before);
  server.answers["tools/call"] = small(before);
  const elsewhere = new FakeServer({ "tools/call": () => said("other") });
  const another = await connected(elsewhere, { tools: [] });
  let parent: string | undefined;
  const back = tool({
    name: "back",
    inputSchema: anything,
    run: async () => {
      parent = currentCall()?.parent;
      await peer.call("small");
      await another.call("small");
      assert.deepEqual(peer.tools.chain(), { "dev.portcullis/chain": "chain-1" });
      assert.deepEqual(another.tools.chain(), {});
    },
  });
  const peer = await connected(server, { tools: [back] });
  await peer.call("plan_day");
  await peer.call("small");
  assert.equal(parent, "8f1c");
  assert.equal(currentCall(), undefined);
  const chains = server.requests("tools/call").map((params) => meta(params)["dev.portcullis/chain"]);
  assert.deepEqual(chains, [undefined, "chain-1", undefined, undefined]);
  assert.equal("dev.portcullis/chain" in meta(elsewhere.requests("tools/call")[0]), false);
  await peer.close();
  await another.close();
});

test("a call back may want a call of its own", async () => {
  const server = new FakeServer({
    "tools/call": (params) =>
      KEY in meta(params) ? said("done") : wanted({ a: call(params.name === "plan_day" ? "back" : "free") }),
  });
  const free = tool({ name: "free", inputSchema: anything, run: () => "free" });
  const run = async () => ((await peer.call("inner")).content as { text: string }[])[0]?.text;
  const back = tool({ name: "back", inputSchema: anything, run });
  const peer = await connected(server, { tools: [free, back], limits: { parallel: 1 } });
  await peer.call("plan_day");
  const outcomes = server.requests("tools/call").flatMap((params) => (KEY in meta(params) ? [meta(params)[KEY]] : []));
  const texts = (outcomes as { results: Record<string, Answered> }[]).map(({ results: { a } }) => a?.content?.[0]?.text);
  assert.deepEqual(texts, ["free", "done"]);
  await peer.close();
});

test("a call that is cancelled runs no further and is not made again", async () => {
  const server = once({ a: call("slow") });
  let signal: AbortSignal | undefined;
  const run = (_: JsonObject, { signal: mine }: Call) => new Promise(() => (signal = mine));
  const peer = await connected(server, { tools: [tool({ name: "slow", inputSchema: anything, run })] });
  const abort = new AbortController();
  const calling = peer.call("plan_day", {}, {}, abort.signal);
  calling.catch(() => {});
  await until(() => signal !== undefined);
  abort.abort("enough");
  await assert.rejects(calling);
  await until(() => signal?.aborted === true);
  assert.equal(server.requests("tools/call").length, 1);
  await peer.close();
});

test("an error of the server is an error of the call", async () => {
  const server = new FakeServer({
    "tools/call": (params) => {
      if (KEY in meta(params)) throw new RpcError(-32602, "the continuation is not good");
      return wanted({});
    },
  });
  const peer = await connected(server, { tools: [] });
  await assert.rejects(peer.call("plan_day"), { code: -32602 });
  await peer.close();
});

test("what cannot be declared is refused at once", () => {
  const one = tool({ name: "one", inputSchema: anything, run: () => "" });
  assert.throws(() => tool({ name: "a b", inputSchema: anything, run: () => "" }), /no name for a tool/);
  assert.throws(() => clientTools({ tools: [one, one] }), /two tools "one"/);
  assert.throws(() => clientTools({ tools: [one], lanes: [] }), /lanes/);
  assert.throws(() => clientTools({ tools: [one], limits: { calls: 0 } }), /limits.calls/);
  const many = Array.from({ length: 129 }, (_, n) => tool({ name: `t${n}`, inputSchema: anything, run: () => "" }));
  assert.throws(() => clientTools({ tools: many }), /at most 128/);
});
