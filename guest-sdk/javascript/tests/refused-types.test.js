// What the build says of types and comments that make no schema.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { folder, made, schemas } from "./typescript.js";

test("types that have no schema are named, each with its place", async () => {
  const { problems } = await made(`
interface Bad {
  any: any;
  call: (a: string) => void;
  method(): string;
  symbol: symbol;
  big: bigint;
  date?: Date;
  map: Map<string, string>;
  tuple: [string, number];
  size: \`\${number}px\`;
  object: object;
  list: (string | undefined)[];
  never: never;
  made: Made;
  content: Content;
  brand: string & { brand: 1 };
  nested: { deep: { when: Date }[] };
  keys: Record<number, string>;
}
class Made { a = 1 }
typedTool<Bad>({ name: "bad", description: "D.", run: () => "" });
typedTool<{ a: 1 } | { b: 2 }>({ name: "union", description: "D.", run: () => "" });
typedTool<string[]>({ name: "list", description: "D.", run: () => "" });
typedTool<{}, { at: Date }>({ name: "result", description: "D.", run: () => ({ at: new Date() }) });
typedTool<{}, Promise<{}>>({ name: "promise", description: "D.", run: async () => ({}) });
typedTool<Grows<1>>({ name: "grows", description: "D.", run: () => "" });
interface Grows<T> { next?: Grows<T[]> }
`);
  const found = problems.map((problem) => problem.replace(" has the type ", " ").replace(", which has no JSON Schema; write ", ": "));
  assert.deepEqual(found.slice(0, 17), [
    "plugin.ts:4:3: Bad.any `any`: the type, or unknown for any JSON value",
    "plugin.ts:5:3: Bad.call `(a: string) => void`: data: a function cannot be sent",
    "plugin.ts:6:3: Bad.method `() => string`: data: a function cannot be sent",
    "plugin.ts:7:3: Bad.symbol `symbol`: string",
    "plugin.ts:8:3: Bad.big `bigint`: integer, or string for what is beyond 2^53",
    "plugin.ts:9:3: Bad.date `Date`: string, with @format date-time in its comment",
    "plugin.ts:10:3: Bad.map `Map<string, string>`: Record<string, ...>",
    "plugin.ts:11:3: Bad.tuple `[string, number]`: an array, or an object with names",
    "plugin.ts:12:3: Bad.size `\u0060${number}px\u0060`: string, with @pattern in its comment",
    "plugin.ts:13:3: Bad.object `object`: Record<string, unknown>, or an interface",
    "plugin.ts:14:3: an item of Bad.list `undefined`: null, or `?` behind a member's name",
    "plugin.ts:15:3: Bad.never `never`: another type: it has no value",
    "plugin.ts:16:3: Bad.made `Made`: an interface with its data: an instance of a class cannot be sent",
    "plugin.ts:17:3: Bad.content `Content`: an interface of your own",
    "plugin.ts:18:3: Bad.brand `string & { brand: 1; }`: the plain type",
    "plugin.ts:19:21: an item of Bad.nested.deep.when `Date`: string, with @format date-time in its comment",
    "plugin.ts:20:3: Bad.keys `Record<number, string>`: string as the type of its keys",
  ]);
  assert.match(found[17], /^plugin\.ts:24:11: the arguments .*: one object type: a union cannot be the root/);
  assert.match(found[18], /^plugin\.ts:25:11: the arguments `string\[\]`: an interface$/);
  assert.match(found[19], /^plugin\.ts:26:17: the result\.at `Date`/);
  assert.match(found[20], /^plugin\.ts:27:15: Promise `Promise<{}>`: the type of what it waits for$/);
  assert.match(found[21], /: something that is nested less deep$/);
  assert.equal(found.length, 22);
});

test("comments that make no sense are named", async () => {
  const { problems } = await made(`
interface Bad {
  /** @minimun 1 */ a: number;
  /** @minimum one */ b: number;
  /** @minLength 1 */ c: number;
  /** @integer */ d: string;
  /** @pattern [a- */ e: string;
  /** @default 4 */ f?: "a" | "b";
  /** @default 4 */ g: integer;
  /** @default 4 */ h?: integer;
  /** @maximum 9 */ i?: integer;
  j: "a" | {
  /** @default 1 */ deep?: number };
  k: string; /** Lost. */ l: string;
}
typedTool<Bad>({ name: "bad", description: "D.", run: ({ h = 5, i = 10 }) => \`\${h}\${i}\` });
`);
  const known = problems[0].slice(problems[0].indexOf("known are"));
  assert.match(known, /minimum, .*, default, integer, title$/);
  assert.deepEqual(problems, [
    `plugin.ts:4:21: Bad.a: @minimun is not known; ${known}`,
    "plugin.ts:5:23: Bad.b: @minimum one is not understood; write a number",
    "plugin.ts:6:23: Bad.c: @minLength is for a string, and this is none",
    "plugin.ts:7:19: Bad.d: @integer is for a number, and this is none",
    "plugin.ts:8:23: Bad.e: @pattern [a- is not understood; write a regular expression",
    "plugin.ts:9:21: Bad.f: @default 4 is not a value of this type; write it as JSON",
    "plugin.ts:10:21: Bad.g: @default is for what may be left out; write `?` behind the name",
    "plugin.ts:11:21: Bad.h: @default says 4, and the parameter list of run 5",
    "plugin.ts:12:21: Bad.i: the default in the parameter list of run, 10, is outside of what may be given",
    "plugin.ts:14:21: Bad.j.deep: @default inside of a union is not filled in; write it in the code",
    "plugin.ts:15:27: Bad.l: the comment in front of it is not read, since it does not begin a line; write it on a line above the member",
  ]);
});

test("the types of the plugin are checked, and a tsconfig.json is heeded", async () => {
  const wrong = `
interface Arguments { name: string; days?: integer }
typedTool<Arguments, { length: number }>({
  name: "wrong", description: "D.",
  run: ({ name, days }) => ({ length: name.size, days: days + 1 }),
});
import { left } from "./left.ts";
`;
  const { problems } = await made(wrong, { "left.ts": "export const right = 1;" });
  assert.deepEqual(problems, [
    "plugin.ts:6:44: Property 'size' does not exist on type 'string'. (TS2339)",
    "plugin.ts:6:56: 'days' is possibly 'undefined'. (TS18048)",
    "plugin.ts:8:10: Module '\"./left.ts\"' has no exported member 'left'. (TS2305)",
  ]);
  const loose = { "tsconfig.json": '{ "compilerOptions": { "strict": false, "module": "nodenext" }, "include": ["none"] }' };
  assert.equal((await made(wrong, loose)).problems.length, 2);
  assert.match((await made("", { "tsconfig.json": "{ compilerOptions" })).problems[0], /TS1005/);
  const declared = {
    "tsconfig.json": '{ "compilerOptions": { "composite": true, "isolatedDeclarations": true }, "include": ["*.d.ts"] }',
    "words.d.ts": "/** @memberof words */\ndeclare interface Word {\n  /** A word. @memberof words @minLength 1 */\n  word: string;\n}\n",
  };
  const tools = await schemas('typedTool<Word>({ name: "word", description: "D.", run: ({ word }) => word });', declared);
  assert.deepEqual(tools.word.input.properties, { word: { type: "string", description: "A word.", minLength: 1 } });
  await rm(join(folder, "tsconfig.json"));
});
