// Tools of types, as they run: natively without schemas, and in a component with those that the build has made.

import assert from "node:assert/strict";
import { test } from "node:test";

import { offers, typed } from "../src/describe.js";
import { typedTool } from "../src/index.js";
import { Host } from "../src/testing.js";
import { learn } from "../src/typed.js";

test("without a build, arguments are passed on as they are", async () => {
  const echo = typedTool({ name: "echo", description: "Echoes.", readOnly: true, run: (args) => args });
  assert.equal((await new Host().call(echo, { a: [1] })).structured, '{"a":[1]}');
  assert.deepEqual([echo.inputSchema, echo.outputSchema, echo.execution], ['{"type":"object"}', undefined, "inline"]);
  assert.deepEqual([offers(), typed], [["tools"], ["echo"]]);
  for (const [offer, said] of [
    [{ name: "a b", description: "x", run() {} }, /is not a name/],
    [{ name: "echo", description: "x", run() {} }, /there is `echo` already/],
  ]) {
    assert.throws(() => typedTool(offer), said);
  }
});

test("a component has the schemas of the build, and fills in their defaults", async () => {
  const point = { type: "object", properties: { x: { type: "integer", default: 1 }, next: { $ref: "#/$defs/Point" } } };
  const input = {
    type: "object",
    properties: {
      days: { type: "integer", default: 3 },
      tags: { type: "array", items: { type: "string" }, default: ["a"] },
      points: { type: "array", items: { $ref: "#/$defs/Point" } },
      byName: { type: "object", additionalProperties: { $ref: "#/$defs/Point" } },
      any: {},
      maybe: { anyOf: [{ type: "string" }, { $ref: "#/$defs/Point" }, { type: "null" }] },
    },
    additionalProperties: false,
    $defs: { Point: point },
  };
  const schemas = { input: JSON.stringify(input), output: '{"type":"object"}' };
  learn({ filled: schemas, none: { input: '{"type":"object"}' } });
  const filled = typedTool({
    name: "filled",
    description: "Is filled.",
    run(args) {
      const seen = JSON.stringify(args);
      args.tags.push("b");
      return seen;
    },
  });
  assert.deepEqual([filled.inputSchema, filled.outputSchema], [schemas.input, schemas.output]);
  const call = async (args) => JSON.parse((await new Host().call(filled, args)).text);
  assert.deepEqual(await call({}), { days: 3, tags: ["a"] });
  assert.deepEqual(await call({}), { days: 3, tags: ["a"] }, "each call has a value of its own");
  const given = { days: 0, tags: [], points: [{ next: { next: { x: 5 } } }, null], byName: { a: {}, b: { x: 2 } }, any: { x: null }, maybe: {} };
  assert.deepEqual(await call(given), {
    days: 0,
    tags: [],
    points: [{ x: 1, next: { x: 1, next: { x: 5 } } }, null],
    byName: { a: { x: 1 }, b: { x: 2 } },
    any: { x: null },
    maybe: { x: 1 },
  });
  assert.throws(() => typedTool({ name: "other", description: "x", run() {} }), /`other` has no schema: no call of typedTool/);
});
