// The three tools, with a host that answers from a table.

import assert from "node:assert/strict";
import { test } from "node:test";
import { callTool, definitions } from "../src/tools.js";
import { declare } from "../src/declarations.js";
import { search } from "../src/search.js";

const tool = (name, description, input = { type: "object" }, output = null) => ({
  name,
  title: null,
  description,
  inputSchema: JSON.stringify(input),
  outputSchema: output && JSON.stringify(output),
});

const NOTE = {
  type: "object",
  properties: { title: { type: "string", description: "What it is about.", maxLength: 200 }, tags: { type: "array", items: { type: "string" } } },
  required: ["title"],
};

const TOOLS = [
  tool("notes.add", "Saves a note. It is never overwritten.", NOTE, { type: "object", properties: { id: { type: "integer" } }, required: ["id"] }),
  tool("notes.search", "Finds notes."),
  tool("my-mail.send", "Sends a letter to somebody."),
];

function fakeHost(answers = {}) {
  const made = [];
  const printed = [];
  return {
    made,
    printed,
    listTools: () => TOOLS,
    callMany(calls) {
      made.push(calls.map((call) => call.name));
      return calls.map((call) => answers[call.name] ?? { tag: "ok", val: { content: [{ data: { tag: "text", val: call.arguments } }], structured: null } });
    },
    fuelLeft: () => 1_000 - 10 * made.length,
    emit(words) {
      printed.push(words);
      return true;
    },
    sleep() {},
  };
}

const run = (code, host = fakeHost()) => {
  const { content, isError } = callTool("run_code", { code }, host);
  return { ...JSON.parse(content[0].data.val), isError };
};

test("definitions are what the host accepts", () => {
  assert.deepEqual(definitions.map(({ name }) => name), ["search_tools", "describe_tool", "run_code"]);
  for (const { inputSchema } of definitions) assert.equal(JSON.parse(inputSchema).additionalProperties, false);
});

test("calls of one Promise.all are made together, others one by one", () => {
  const host = fakeHost();
  run("await Promise.all([tools.a.x(), tools.a.y()]); await tools.a.z(); await tools.a.z()", host);
  assert.deepEqual(host.made, [["a.x", "a.y"], ["a.z"], ["a.z"]]);
});

test("calls that nobody waits for are made all the same", () => {
  const host = fakeHost();
  run("tools.a.x(); return 1", host);
  assert.deepEqual(host.made, [["a.x"]]);
});

test("many calls are made in parts", () => {
  const host = fakeHost();
  run("await Promise.all(Array.from({ length: 150 }, () => tools.a.x()))", host);
  assert.deepEqual(host.made.map((calls) => calls.length), [64, 64, 22]);
});

test("results are values, and errors say what to do", () => {
  const err = (tag, val) => ({ tag: "err", val: { tag, val } });
  const host = () => fakeHost({
    "notes.add": { tag: "ok", val: { content: [], structured: '{"id":7}' } },
    "a.denied": err("denied", { capability: "agent-tools", target: "a.denied", remedy: "secret" }),
    "notes.search": err("invalid-arguments", "`query` is missing"),
    "a.failed": err("tool-error", { content: [{ data: { tag: "text", val: "no disk" } }], structured: null }),
    "a.gone": err("unknown-tool", "a.gone"),
  });
  assert.equal(run("return (await tools.notes.add({ title: 'x' })).id", host()).result, 7);
  assert.equal(run("return (await tools.notes__add({ title: 'x' })).id", host()).result, 7);
  assert.equal(run("return (await tools['notes.add']({ title: 'x' })).id", host()).result, 7);
  for (const [code, part] of [
    ["await tools.a.denied()", "`a.denied` is not granted. Ask the user"],
    ["await tools.notes.search()", "`query` is missing\nIt is declared as:"],
    ["await tools.a.failed()", "no disk"],
    ["await tools.a.gone()", "no such tool"],
    ["await tools.notes.add('x')", "takes one object"],
  ]) {
    const { error, isError } = run(code, host());
    assert.ok(isError && error.includes(part) && !error.includes("secret"), error);
  }
});

test("the summary counts calls by tool and outcome", () => {
  const { calls } = run("for (let i = 0; i < 20; i++) await tools.a.x(); await tools.b.y()");
  assert.deepEqual(calls, [
    { tool: "a.x", outcome: "ok", times: 20, fuel: 200 },
    { tool: "b.y", outcome: "ok", times: 1, fuel: 10 },
  ]);
  const many = run("for (let i = 0; i < 300; i++) await tools.a['t' + i]()").calls;
  assert.equal(many.length, 101);
  assert.equal(many.reduce((sum, { times }) => sum + times, 0), 300);
});

test("what is printed is bounded in the result", () => {
  const host = fakeHost();
  const { output } = run("for (let i = 0; i < 1000; i++) console.log('x'.repeat(99))", host);
  assert.ok(output.length < 17_000 && output.endsWith("83616 characters more"), output.slice(-60));
  assert.equal(host.printed.length, 1_000);
});

test("tools are found by their words", () => {
  const names = (query) => search(TOOLS, query, 10).map(({ name }) => name);
  assert.deepEqual(names("save note"), ["notes.add", "notes.search"]);
  assert.deepEqual(names("letter"), ["my-mail.send"]);
  assert.deepEqual(names("tags"), ["notes.add"]);
  assert.deepEqual(names(""), ["my-mail.send", "notes.add", "notes.search"]);
  assert.deepEqual(names("zebra"), []);
});

test("declarations say what schemas say", () => {
  const declared = declare(TOOLS[0]);
  assert.match(declared, /tools\.notes\.add\(args: \{\n {2}\/\*\* What it is about\., maxLength 200 \*\/\n {2}title: string;\n {2}tags\?: string\[\];\n\}\): Promise<\{/);
  assert.match(declare(TOOLS[2]), /tools\["my-mail"\]\.send\(\): Promise<string>;/);
  const type = (schema) => /x\??: ([^]*?);\n/.exec(declare(tool("a.b", "", { type: "object", properties: { x: schema } })))[1];
  for (const [schema, expected] of [
    [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
    [{ type: ["string", "null"] }, "string | null"],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "string | number"],
    [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, "Array<string | null>"],
    [{ type: "array", prefixItems: [{ type: "string" }, { type: "number" }] }, "[string, number]"],
    [{ type: "object", additionalProperties: { type: "number" } }, "Record<string, number>"],
    [{ const: "c" }, '"c"'],
    [{}, "unknown"],
    [false, "never"],
  ]) {
    assert.equal(type(schema), expected, JSON.stringify(schema));
  }
});

test("schemas that refer to themselves, comments that end early and huge ones are harmless", () => {
  const self = { type: "object", properties: { next: { $ref: "#/$defs/node" } }, $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } } };
  assert.ok(declare(tool("a.b", "Ends */ evil()", self)).includes("unknown"));
  assert.ok(!declare(tool("a.b", "Ends */ evil()", self)).includes("*/ evil"));
  const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field${i}`, { type: "string" }]));
  assert.ok(declare(tool("a.b", "", { type: "object", properties: wide })).length < 20_010);
});

test("a tool that is not there is answered with those of a like name", () => {
  const { content, isError } = callTool("describe_tool", { name: "notes.adds" }, fakeHost());
  assert.ok(isError && content[0].data.val.includes("notes.add"), content[0].data.val);
});
