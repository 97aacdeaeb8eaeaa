/** Lanes `live` and `request`, and steering, with both SDKs. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type ClientTools, type JsonObject, clientTools, steer, tool } from "../src/index.js";
import { FakeServer, type Peer, RpcError, call, complete, newer, older, said, until } from "./fake.js";

const KEY = "dev.portcullis/client-tools";
const double = tool<{ n: number }>({ name: "double", inputSchema: { type: "object" }, run: ({ n }) => n * 2 });

const peers: Record<string, (tools: ClientTools) => Peer> = {
  "client 2.x, 2026-07-28": (tools) => newer("auto", tools.extensions),
  "client 2.x, 2025-11-25": (tools) => newer("legacy", tools.extensions),
  "sdk 1.x": (tools) => older(tools.extensions),
};

/** A server that has the live lane: its tool makes calls and waits for their outcomes. */
class LiveServer extends FakeServer {
  channel = "";
  readonly outcomes = new Map<unknown, JsonObject>();
  break: () => void = () => {};

  constructor(calls: JsonObject[] = []) {
    super({
      "dev.portcullis/reverse/listen": async ({ channel }) => {
        this.channel = String(channel);
        this.notify("reverse_listening", { channel });
        await new Promise<void>((resolve) => (this.break = resolve));
        this.channel = "";
        return complete();
      },
      "dev.portcullis/reverse/respond": (params) => {
        if (this.outcomes.has(params.callId)) throw new RpcError(-32602);
        this.outcomes.set(params.callId, params);
        return complete();
      },
      "tools/call": async () => {
        calls.forEach((one, n) => this.reverse(`c${n}`, one));
        await until(() => this.outcomes.size === calls.length);
        return said(`${this.outcomes.size} outcomes`);
      },
    });
  }

  reverse(callId: string, one: JsonObject, channel = this.channel): void {
    this.notify("reverse_call", { channel, callId, ...one });
  }
}

for (const [name, make] of Object.entries(peers)) {
  test(`live: calls and answers, ${name}`, async () => {
    const tools = clientTools({ tools: [double], lanes: ["live"] });
    const server = new LiveServer([call("double", { n: 4 }), call("nothing")]);
    const peer = make(tools);
    tools.attach(peer.client);
    await peer.connect(server);
    assert.equal(await tools.listen(), true);
    const result = await peer.call("plan_day");
    assert.deepEqual(result.content, [{ type: "text", text: "2 outcomes" }]);
    assert.deepEqual((server.outcomes.get("c0")?.result as JsonObject).structuredContent, { result: 8 });
    assert.equal((server.outcomes.get("c1")?.error as JsonObject).code, "unknown-tool");
    const [listened] = server.requests("dev.portcullis/reverse/listen");
    assert.equal(listened?.channel, tools.settings.channel);
    assert.match(String(listened?.channel), /^[\w-]{22,128}$/);
    tools.close();
    await peer.close();
  });

  test(`steering, ${name}`, async () => {
    const server = new FakeServer({
      "dev.portcullis/steer": ({ message }) => {
        if (message === "") throw new RpcError(-32602, "several are running", { running: [{ call: "8f1c" }] });
        return complete({ call: "8f1c" });
      },
    });
    const peer = make(clientTools({ tools: [] }));
    await peer.connect(server);
    assert.equal(await steer(peer.client, "make it a comedy", { correlationId: "book" }), "8f1c");
    assert.equal(await steer(peer.client, "shorter", { call: "8f1c" }), "8f1c");
    await assert.rejects(steer(peer.client, ""), { code: -32602, data: { running: [{ call: "8f1c" }] } });
    const asked = server.requests("dev.portcullis/steer").map(({ _meta, ...params }) => params);
    assert.deepEqual(asked.slice(0, 2), [
      { message: "make it a comedy", correlationId: "book" },
      { message: "shorter", call: "8f1c" },
    ]);
    await peer.close();
  });
}

test("live: it listens again when the request ends", async () => {
  const tools = clientTools({ tools: [double], lanes: ["live", "retry"] });
  const server = new LiveServer([call("double", { n: 1 })]);
  const peer = newer("auto", tools.extensions);
  tools.attach(peer.client);
  await peer.connect(tools.over(server));
  await tools.listen();
  server.break();
  await until(() => server.requests("dev.portcullis/reverse/listen").length === 2 && server.channel !== "");
  await peer.call("plan_day");
  assert.equal(server.outcomes.size, 1);
  const [first, second] = server.requests("dev.portcullis/reverse/listen");
  assert.equal(first?.channel, second?.channel);
  tools.close();
  await peer.close();
});

test("live: a call given up is stopped, one said twice or on a strange channel is not run", async () => {
  const signals: AbortSignal[] = [];
  const slow = tool({ name: "slow", inputSchema: { type: "object" }, run: (_, { signal }) => new Promise(() => signals.push(signal)) });
  const tools = clientTools({ tools: [slow], lanes: ["live"] });
  const server = new LiveServer();
  const peer = newer("auto", tools.extensions);
  tools.attach(peer.client);
  await peer.connect(server);
  await tools.listen();
  server.reverse("a", call("slow"), "another-channel-altogether");
  server.reverse("b", call("slow"));
  server.reverse("b", call("slow"));
  server.reverse("c", call("slow"));
  await until(() => signals.length === 2);
  server.notify("reverse_cancelled", { channel: server.channel, callId: "b", reason: "timeout" });
  await until(() => signals[0]?.aborted === true);
  assert.equal(signals[1]?.aborted, false);
  assert.equal(server.outcomes.size, 0);
  tools.close();
  await until(() => signals[1]?.aborted === true);
  assert.equal(signals.length, 2);
  await peer.close();
});

test("live: a server without it", async () => {
  const tools = clientTools({ tools: [], lanes: ["live"] });
  const server = new FakeServer();
  const peer = newer("auto", tools.extensions);
  tools.attach(peer.client);
  await peer.connect(server);
  assert.equal(await tools.listen(), false);
  assert.equal(server.requests("dev.portcullis/reverse/listen").length, 1);
  await peer.close();
});

for (const name of ["client 2.x, 2025-11-25", "sdk 1.x"]) {
  test(`request: ${name}`, async () => {
    const waits = tool({ name: "waits", inputSchema: { type: "object" }, run: (_, one) => new Promise(() => (signal = one.signal)) });
    let signal: AbortSignal | undefined;
    const tools = clientTools({ tools: [double, waits], approve: ({ arguments: { n } }) => (n === 13 ? { deny: "unlucky" } : "allow") });
    const server = new FakeServer();
    const peer = peers[name]?.(tools);
    assert.ok(peer);
    let others = 0;
    peer.client.fallbackRequestHandler = async () => ({ others: (others += 1) });
    tools.attach(peer.client);
    await peer.connect(tools.over(server));
    const { extensions } = server.capabilities as Record<string, Record<string, JsonObject>>;
    assert.deepEqual(extensions?.[KEY]?.lanes, ["retry", "request"]);

    const answered = await server.ask("dev.portcullis/tools/call", call("double", { n: 4 }));
    assert.deepEqual((answered.result as JsonObject).structuredContent, { result: 8 });
    const declined = await server.ask("dev.portcullis/tools/call", call("double", { n: 13 }));
    assert.deepEqual(declined.error, { code: -32000, message: "unlucky", data: { code: "declined" } });
    const unknown = await server.ask("dev.portcullis/tools/call", call("nothing"));
    assert.deepEqual((unknown.error as JsonObject).data, { code: "unknown-tool" });
    assert.equal(((await server.ask("com.example/other", {})).result as JsonObject).others, 1);

    void server.ask("dev.portcullis/tools/call", call("waits"));
    await until(() => signal !== undefined);
    server.say({ method: "notifications/cancelled", params: { requestId: "ask-5", reason: "enough" } });
    await until(() => signal?.aborted === true);
    await peer.close();
  });
}

test("one instance, one client", () => {
  const tools = clientTools({ tools: [] });
  tools.attach(newer("auto", {}).client);
  assert.throws(() => tools.attach(newer("auto", {}).client), /each client needs its own/);
});
