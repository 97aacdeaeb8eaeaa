// Tools of the agent, kept values, other servers.

import { agentTools, connect, connections, fetch, state, t, tool } from "portcullis-guest";

tool({
  name: "delegate",
  description: "Calls a tool of the agent.",
  input: {
    tool: t.string(),
    path: t.string().optional(),
    n: t.string("A number, or what the tool refuses.").optional(),
  },
  async run({ tool: name, path, n }) {
    const said = await agentTools.call(name, { path, n: /^\d+$/.test(n ?? "") ? Number(n) : n });
    return `${name} said ${JSON.stringify(said.path)} and ${said.n}`;
  },
});

tool({
  name: "keep",
  description: "Keeps values.",
  input: {
    action: t.enum(["set", "get", "remove", "list", "count"]),
    key: t.string(),
    value: t.string().optional(),
  },
  async run({ action, key, value = "" }) {
    switch (action) {
      case "set":
        await state.set(key, value);
        return "kept";
      case "get":
        return (await state.get(key)) ?? "nothing";
      case "remove":
        return (await state.remove(key)) ? "removed" : "nothing";
      case "list":
        return (await state.keys(key)).join(", ");
      default:
        return String(await state.update(key, (count = 0) => count + 1));
    }
  },
});

tool({
  name: "fetch",
  description: "Fetches a page.",
  openWorld: true,
  input: { path: t.string(), body: t.string().optional() },
  output: t.object({
    status: t.integer(),
    kind: t.string().optional(),
    truncated: t.boolean(),
    text: t.string(),
  }),
  async run({ path, body }) {
    const response = await fetch(`http://localhost:8444${path}`, {
      headers: { "x-polyglot": "yes" },
      maxBody: 20,
      ...(body !== undefined && { method: "POST", json: { body } }),
    });
    if (response.status === 500) {
      response.throwForStatus();
    }
    const kind = response.headers.get("content-type");
    return { status: response.status, kind, truncated: response.truncated, text: await response.text() };
  },
});

tool({
  name: "gather",
  description: "Calls tools of the agent at once.",
  input: { tools: t.array(t.string()) },
  async run({ tools }) {
    const calls = tools.map((name, at) => ({ name, args: { path: name, n: at + 1 } }));
    const said = await agentTools.callMany(calls, { settled: true });
    return said.map(({ value, reason }) => (value ? `${JSON.stringify(value.path)} and ${value.n}` : reason.message)).join("\n");
  },
});

tool({
  name: "account",
  description: "Uses an account.",
  input: { path: t.string(), body: t.string().optional() },
  async run({ path, body }) {
    if (!(await connections.connected("service"))) {
      await connect("Connect the service.", "service", { key: "service" });
    }
    const posted = body !== undefined && { method: "POST", json: { body } };
    const response = await connections.fetch("service", path, { headers: { "x-kind": "person" }, ...posted });
    return `${response.throwForStatus().status} ${await response.text()}`;
  },
});
