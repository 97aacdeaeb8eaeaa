// Schemas that the build makes of types.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { made, schemas } from "./typescript.js";

test("members become properties, and comments say more of them", async () => {
  const { everything, plain } = await schemas(`
    /** A place on a map. */
    interface Point { x: integer; y: number; label?: string | null }
    type Unit = "K" | "F" | "C";
    interface Shared {
      /** Who asks. */
      readonly who: string;
    }
    export interface Everything extends Shared {
      /**
       * A name: 1 to 9 letters.
       *
       * @minLength 1
       * @maxLength 9
       * @pattern ^[a-z]{1,9}@?$
       */
      name: string;
      /** One line. @minimum 1 @maximum 14 @multipleOf 0.5 @default 3 */
      days?: integer;
      /** @integer @exclusiveMinimum -1 @exclusiveMaximum 5 */
      count: number | null;
      unit?: Unit;
      /** @format date @title When */
      date?: string;
      level: 3 | 1 | 2;
      ratio: 0.5 | 1;
      always: true;
      mixed: "auto" | number;
      nothing: null;
      /** @minItems 1 @maxItems 9 @uniqueItems @deprecated */
      points: Point[];
      units: readonly Unit[];
      /** Its own words. */
      at: Point;
      byName?: Record<string, integer[]>;
      some: Pick<Point, "x"> & { z: boolean };
      maybe: Partial<Point>;
      rest: unknown;
      /** @default true */
      on?: boolean;
      /** @default C */
      shown?: Unit;
      /** @default 12 */
      digits?: string;
      /** @default [1, 2] */
      some2?: number[];
    }
    typedTool<Everything>({ name: "everything", description: "All.", run: () => "done" });
    typedTool({ name: "plain", description: "Nothing.", run: () => "done" });
    tool({ name: "built", description: "As before.", input: { a: t.string() }, run: ({ a }) => a });
  `);
  const point = {
    type: "object",
    description: "A place on a map.",
    properties: { x: { type: "integer" }, y: { type: "number" }, label: { type: ["string", "null"] } },
    required: ["x", "y"],
  };
  const unit = { type: "string", enum: ["K", "F", "C"] };
  assert.deepEqual(everything, {
    input: {
      type: "object",
      properties: {
        name: { type: "string", description: "A name: 1 to 9 letters.", minLength: 1, maxLength: 9, pattern: "^[a-z]{1,9}@?$" },
        days: { type: "integer", description: "One line.", minimum: 1, maximum: 14, multipleOf: 0.5, default: 3 },
        count: { type: ["integer", "null"], exclusiveMinimum: -1, exclusiveMaximum: 5 },
        unit,
        date: { type: "string", format: "date", title: "When" },
        level: { type: "integer", enum: [3, 1, 2] },
        ratio: { type: "number", enum: [0.5, 1] },
        always: { type: "boolean", enum: [true] },
        mixed: { anyOf: [{ type: "string", enum: ["auto"] }, { type: "number" }] },
        nothing: { type: "null" },
        points: { type: "array", items: point, minItems: 1, maxItems: 9, uniqueItems: true },
        units: { type: "array", items: unit },
        at: { ...point, description: "Its own words." },
        byName: { type: "object", additionalProperties: { type: "array", items: { type: "integer" } } },
        some: { type: "object", properties: { x: { type: "integer" }, z: { type: "boolean" } }, required: ["x", "z"] },
        maybe: { type: "object", properties: point.properties },
        rest: {},
        on: { type: "boolean", default: true },
        shown: { ...unit, default: "C" },
        digits: { type: "string", default: "12" },
        some2: { type: "array", items: { type: "number" }, default: [1, 2] },
        who: { type: "string", description: "Who asks." },
      },
      required: ["name", "count", "level", "ratio", "always", "mixed", "nothing", "points", "units", "at", "some", "maybe", "rest", "who"],
      additionalProperties: false,
    },
    output: undefined,
  });
  assert.deepEqual(plain, { input: { type: "object", properties: {}, additionalProperties: false }, output: undefined });
});

test("the README's types are schemas", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, block] = /```ts\n(import \{ type integer.*?)```/s.exec(readme);
  const { route } = await schemas(block.slice(block.indexOf("\n")));
  assert.deepEqual(route.input, {
    type: "object",
    properties: {
      from: { type: "string", description: "Where it begins.", minLength: 1 },
      stops: { type: "array", items: { type: "string" }, maxItems: 9 },
      people: { type: "integer", minimum: 1, default: 1 },
      by: { type: "string", enum: ["train", "bus"], default: "train" },
    },
    required: ["from", "stops"],
    additionalProperties: false,
  });
  assert.deepEqual(route.output.required, ["legs", "price"]);
});

test("aliases have comments of their own", async () => {
  const { named } = await schemas(`
    /** Days ahead. @minimum 1 */
    type Days = integer;
    /** @maximum 14 */
    type Soon = Days;
    /** A word. */
    type Word = "b" | "a";
    type Flag = boolean;
    type Records = Record<string, Soon>;
    interface Arguments {
      days: Days;
      soon?: Soon | null;
      /** Own. @maximum 7 */
      own?: Soon;
      all: Soon[];
      lists: readonly Array<Soon>[];
      records: Records;
      keys: { [key: string]: Soon };
      either: Days | "never" | Word;
      word: Word;
      flag?: Flag;
    }
    typedTool<Arguments>({ name: "named", description: "D.", run: () => "" });
  `);
  const days = { type: "integer", description: "Days ahead.", minimum: 1 };
  const soon = { ...days, maximum: 14 };
  assert.deepEqual(named.input.properties, {
    days,
    soon: { ...soon, type: ["integer", "null"] },
    own: { ...soon, description: "Own.", maximum: 7 },
    all: { type: "array", items: soon },
    lists: { type: "array", items: { type: "array", items: soon } },
    records: { type: "object", additionalProperties: soon },
    keys: { type: "object", additionalProperties: soon },
    either: { anyOf: [{ type: "string", enum: ["never", "b", "a"] }, days] },
    word: { type: "string", enum: ["b", "a"], description: "A word." },
    flag: { type: "boolean" },
  });
  const { problems } = await made(`
    /** @default 1 @minLength 2 */
    type Wrong = number;
    typedTool<{ a: Wrong }>({ name: "named", description: "D.", run: () => "" });
  `);
  assert.deepEqual(problems, [
    "plugin.ts:4:5: Wrong: @minLength is for a string, and this is none",
    "plugin.ts:4:5: Wrong: @default is for a member; write it there",
  ]);
});

test("the parameters of run have defaults", async () => {
  const tools = await schemas(`
    import { MOST } from "./other.ts";
    interface Arguments {
      a?: integer; b?: "x" | "y"; c?: string[]; d?: boolean; f?: number; g: string;
      /** @default 2 */
      e?: number;
    }
    typedTool<Arguments>({
      name: "named", description: "D.",
      run({ a = MOST, b: letter = "y", c = ["z"], d = false, e = 2, f = Math.random(), g = "?" }) { return [a, letter, c, d, e, f, g].join(); },
    });
    typedTool<Arguments>({ name: "arrow", description: "D.", run: async ({ a = -1 }) => \`\${a}\` });
  `, { "other.ts": "export const MOST = 7;" });
  const defaults = ({ input }) => Object.entries(input.properties).map(([name, one]) => [name, one.default]);
  assert.deepEqual(defaults(tools.named), [["a", 7], ["b", "y"], ["c", ["z"]], ["d", false], ["f", undefined], ["g", undefined], ["e", 2]]);
  assert.deepEqual(defaults(tools.arrow), [["a", -1], ["b", undefined], ["c", undefined], ["d", undefined], ["f", undefined], ["g", undefined], ["e", 2]]);
});

test("a result that is an object has a schema", async () => {
  const tools = await schemas(`
    /** What was found. */
    interface Found {
      /** How many. @minimum 0 */
      count: integer; first?: string;
    }
    const run = () => ({ count: 1 });
    typedTool<{}, Found>({ name: "object", description: "D.", run });
    typedTool<{}, Found>({ name: "later", description: "D.", run: async () => run() });
    typedTool<{}, Record<string, number>>({ name: "record", description: "D.", run });
    typedTool<{}, string>({ name: "text", description: "D.", run: () => "a" });
    typedTool<{}, Found[]>({ name: "list", description: "D.", run: () => [] });
    declare const piece: Content;
    typedTool<{}, Content>({ name: "content", description: "D.", run: () => piece });
    typedTool({ name: "inferred", description: "D.", run: (_: { a: string }): Found => run() });
  `);
  const found = {
    type: "object",
    properties: { count: { type: "integer", description: "How many.", minimum: 0 }, first: { type: "string" } },
    required: ["count"],
  };
  assert.deepEqual(tools.object.output, found);
  assert.deepEqual(tools.later.output, found);
  assert.deepEqual(tools.record.output, { type: "object", additionalProperties: { type: "number" } });
  for (const name of ["text", "list", "content"]) {
    assert.equal(tools[name].output, undefined, name);
  }
  assert.deepEqual(tools.inferred.output, found);
  assert.deepEqual(tools.inferred.input.required, ["a"]);
});

test("what leads back to itself is in $defs", async () => {
  const { tree, holds, json } = await schemas(`
    interface Tree { value: string; children?: Tree[] }
    interface Holder { one: Tree; two?: Tree | null }
    type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
    typedTool<Tree>({ name: "tree", description: "D.", run: () => "" });
    typedTool<Holder>({ name: "holds", description: "D.", run: () => "" });
    typedTool<{ value: Json }>({ name: "json", description: "D.", run: () => "" });
  `);
  const reference = { $ref: "#/$defs/Tree" };
  const properties = { value: { type: "string" }, children: { type: "array", items: reference } };
  const Tree = { type: "object", properties, required: ["value"] };
  assert.deepEqual(tree.input, { ...Tree, additionalProperties: false, $defs: { Tree } });
  assert.deepEqual(holds.input.properties, { one: reference, two: { anyOf: [reference, { type: "null" }] } });
  assert.deepEqual(holds.input.$defs, { Tree });
  const { list } = json.input.$defs;
  assert.equal(list.type, "array");
  assert.deepEqual(list.items.anyOf.find(({ $ref }) => $ref === "#/$defs/list"), { $ref: "#/$defs/list" });
});

test("modules in JavaScript have no types", async () => {
  const js = { "other.js": 'import { typedTool } from "portcullis-guest"; typedTool({ name: "js", description: "D.", run: () => "" });' };
  const tools = await schemas('import "./other.js"; typedTool({ name: "ts", description: "D.", run: () => "" });', js);
  assert.deepEqual(Object.keys(tools), ["ts"]);
});

test("names are those of the call", async () => {
  const tools = await schemas(`
    import { typedTool as make } from "portcullis-guest";
    const NAME = "constant";
    make<{}>({ name: NAME, description: "D.", run: () => "" });
    for (const name of ["a", "b"] as const) make<{}>({ name, description: "D.", run: () => "" });
  `);
  assert.deepEqual(Object.keys(tools), ["constant", "a", "b"]);
  const { problems } = await made(`
    const typed = { typedTool: (_: object) => {} };
    typed.typedTool({ name: "other" });
    for (const at of [1, 2]) typedTool<{}>({ name: \`tool\${at}\`, description: "D.", run: () => "" });
    function mine<A extends object>(name: "mine") { typedTool<A>({ name, description: "D.", run: () => "" }); }
  `);
  assert.deepEqual(problems, [
    "plugin.ts:5:52: no name is known when the plugin is built: write `name` as a string, in the call of typedTool",
    "plugin.ts:6:63: A has the type `A`, which has no JSON Schema; write a type that is known here, without type parameters",
  ]);
});
