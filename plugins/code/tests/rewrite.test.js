// What a program becomes, and that it still does what it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { rewrite } from "../src/rewrite.js";
import { runProgram } from "../src/program.js";

const host = { listTools: () => [], callMany: () => [], fuelLeft: () => 0, emit: () => true, sleep() {} };
const run = (code) => runProgram(code, host);

/// Programs with what they return.
const PROGRAMS = [
  ["return 1 + 1", 2],
  ["1 + 1", 2],
  ["const x = 3; x", 3],
  ["return await 7", 7],
  ["await Promise.resolve(4)", 4],
  ["() => 5", 5],
  ["async () => { return await Promise.resolve(6) }", 6],
  ["async function main() { return 8 }", 8],
  ["```js\nreturn 9\n```", 9],
  ["const f = async x => ({ y: await x }); return (await f(4)).y", 4],
  ["return await (async () => { { await 1 } })() ?? 'u'", "u"],
  ["const o = { async m() { return this.v }, v: 3 }; return await o.m()", 3],
  ["async function f() { return arguments.length + await 1 } return await f(1, 2)", 3],
  ["class A { async x() { return this.y } y = 2; static async z() { return 3 } } return await new A().x() + await A.z()", 5],
  ["const xs = []; for await (const x of (async function*() { yield 1; yield await Promise.resolve(2) })()) xs.push(x); return xs", [1, 2]],
  ["const xs = []; for await (const x of [Promise.resolve(1), 2]) xs.push(x); return xs", [1, 2]],
  ["return await Promise.all([1, Promise.resolve(2)].map(async (x) => (await x) * 2))", [2, 4]],
  ["const r = await Promise.allSettled([Promise.reject(new Error('no')), 1]); return r.map((x) => x.status)", ["rejected", "fulfilled"]],
  ["return await Promise.any([Promise.reject(1), Promise.resolve(2)])", 2],
  ["try { await (async () => { throw new Error('thrown') })() } catch (error) { return error.message }", "thrown"],
  ["return await (async () => { try { return 1 } finally { await 2 } })()", 1],
  ["return (async () => 1)().then((x) => x + 1).finally(() => 9)", 2],
  ["return await new Promise((resolve) => setTimeout(resolve, 10, 'slept'))", "slept"],
  ["return await Promise.race([new Promise(r => setTimeout(r, 50, 'slow')), new Promise(r => setTimeout(r, 5, 'fast'))])", "fast"],
  ["const t = setTimeout(() => { throw 1 }, 5); clearTimeout(t); return 2", 2],
  ["const { promise, resolve } = Promise.withResolvers(); resolve(3); return await promise", 3],
  ["const tools = 1; const console = 2; return tools + console", 3],
  ["return new Map([['a', 1]])", { a: 1 }],
  ["return 10n", "10"],
  ["await 1 // the end", 1],
  ["return `${await Promise.resolve('in')} a template`", "in a template"],
  // TypeScript.
  ["const x: number = 1; const y = x as any as number; return y!", 1],
  ["interface P<T> { x: T; f(a: number): void }\ntype Q = P<string> | null;\nconst q: Q = { x: 'a', f(a: number): void {} }; return q.x", "a"],
  ["function f<T>(x: T, y?: number): T { return x } return f<number>(2)", 2],
  ["class A<T> implements B<T> { private readonly x: T; constructor(x: T) { this.x = x } async get(): Promise<T> { return this.x } }\ninterface B<T> {}\nreturn await new A<string>('z').get()", "z"],
  ["abstract class A { abstract m(): number; n() { return this.m() } }\nclass C extends A { override m() { return 4 } }\nreturn new C().n()", 4],
  ["const f = async <T,>(x: T): Promise<T> => await x; return await f<number>(5)", 5],
  ["const x = { a: 1 } satisfies Record<string, number>; return x.a", 1],
  ["let x!: number; x = 2; return x", 2],
  ["declare const y: number; const xs: Array<{ a?: number }> = [{}]; return xs.map((x: { a?: number }): number => x.a ?? 7)", [7]],
];

test("programs return what they say", () => {
  for (const [code, expected] of PROGRAMS) {
    const { result, error } = run(code);
    assert.equal(error, undefined, `${code}: ${error}`);
    assert.deepEqual(result, expected, code);
  }
});

test("every line stays where it was", () => {
  for (const [code] of PROGRAMS.filter(([code]) => !code.startsWith("```"))) {
    assert.equal(rewrite(code).split("\n").length, code.split("\n").length, code);
  }
});

test("what cannot run says why and where", () => {
  for (const [code, expected] of [
    ["let x = ;", /SyntaxError: .*line 1, column 9/],
    ["\n\nenum A { B }", /an enum.*line 3, column 1/],
    ["class A { constructor(private x: number) {} }", /assign them/],
    ["namespace N { const x = 1 }", /a namespace/],
    ["import fs from 'fs'", /import/],
    ["const a = 1;\nb()", /ReferenceError: b is not defined \(line 2 of the program\)/],
    ["await new Promise(() => {})", /never settles/],
    ["return () => 1", /a function is no result/],
    ["throw { a: 1 }", /object/],
    ["undeclared = 1", /ReferenceError/],
    ["const x = {}; x.x = x; return x", /circular|cycl/],
  ]) {
    assert.match(String(run(code).error), expected, code);
  }
});

test("what nobody waits for is done, and its errors are shown", () => {
  const { result, output } = run("setTimeout(() => console.log('late'), 5); (async () => { throw new Error('lost') })(); return 1");
  assert.equal(result, 1);
  assert.match(output, /late\nerror: nobody waited for: Error: lost\n/);
  assert.equal(run("(async () => { throw new Error('kept') })().catch(() => {}); return 1").output, "");
});

test("text that only looks like a wait is left alone", () => {
  const code = "const s = 'await x'; /* await y */ const o = { async: 1, await: 2 }; return s + o.async + o.await";
  assert.equal(run(code).result, "await x12");
});
