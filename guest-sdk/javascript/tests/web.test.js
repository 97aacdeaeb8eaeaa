// What packages use of the web: requests and their bodies, in a test as in a component, and text.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { FormData, Blob, File } from "../src/forms.js";
import { DUE } from "../src/http.js";
import { Headers, Request } from "../src/http-message.js";
import { Denied, tool } from "../src/index.js";
import { Host, Response } from "../src/testing.js";
import { TextDecoder as Ours, TextEncoder as OurEncoder } from "../src/text-coding.js";
import { decode, encode } from "../src/utf8.js";

const native = { fetch, Request: globalThis.Request, Headers: globalThis.Headers, Response: globalThis.Response };
const sent = new native.Request("https://example.com/b", { method: "PUT", body: "native", headers: { x: "1" } });

const look = tool({
  name: "look",
  description: "Looks.",
  async run() {
    // As a package does, which knows nothing of the SDK.
    const form = new globalThis.FormData();
    form.append("a", new globalThis.File(["<x>"], 'a"b.txt', { type: "text/plain" }));
    const first = await globalThis.fetch(new globalThis.Request("https://example.com/a", { method: "post", body: form }));
    const second = await fetch(sent, { headers: { x: "2" }, method: undefined });
    const third = await fetch(new URL("https://example.com/c?d"), { method: "POST", body: new URLSearchParams({ e: "f g" }) });
    return JSON.stringify([await first.clone().json(), first.bodyUsed, await second.text(), third.statusText, await (await third.blob()).text()]);
  },
});

test("packages reach the fake host, and only while a tool runs", async () => {
  const answers = [() => Response.json({ n: 1 }), () => new Response("two"), () => new Response("three", { statusText: "Fine" })];
  const host = new Host({ http: () => answers.shift()() });
  assert.equal((await host.call(look)).text, '[{"n":1},false,"two","","three"]');
  assert.equal(globalThis.fetch, native.fetch);
  const [first, second, third] = host.requests;
  assert.deepEqual([first.method, first.url], ["POST", "https://example.com/a"]);
  const type = new Map(first.headers).get("content-type");
  // Node reads what was written.
  const read = await new native.Response(first.body, { headers: { "content-type": type } }).formData();
  const file = read.get("a");
  assert.deepEqual([file.name, file.type, await file.text()], ['a"b.txt', "text/plain", "<x>"]);
  assert.deepEqual([second.method, String(new Map(second.headers).get("x")), Buffer.from(second.body).toString()], ["PUT", "2", "native"]);
  assert.deepEqual([third.url, Buffer.from(third.body).toString()], ["https://example.com/c?d", "e=f+g"]);
  assert.equal(new Map(third.headers).get("content-type"), "application/x-www-form-urlencoded;charset=UTF-8");
  await assert.rejects(new Host().call(look), Denied);
  assert.equal(globalThis.fetch, native.fetch);
});

test("a request that was given up is not sent, and a body that cannot be sent is an error", async () => {
  const host = new Host({ http: () => new Response("") });
  const run = (name, work) => tool({ name, description: "Works.", run: work });
  const given = run("given-up", () => fetch("https://example.com/", { signal: AbortSignal.abort(new Error("given up")) }));
  await assert.rejects(host.call(given), /given up/);
  const odd = run("odd", () => fetch("https://example.com/", { method: "POST", body: new Map() }));
  await assert.rejects(host.call(odd), /a body is text, bytes, a form or a blob, not Map/);
  assert.deepEqual(host.requests, []);
});

test("a request ends by its time or by that of its signal, whichever is earlier", async () => {
  const host = new Host({ http: () => new Response("") });
  const { now } = Date;
  Date.now = () => 1000;
  const times = [[50, 1200], [500, 1200], [undefined, 1200], [0, 900], [50, undefined], [undefined, undefined], [Infinity, Infinity], [NaN, 1200]];
  const requests = times.map(([timeout, due]) => ({ timeout, signal: { throwIfAborted() {}, [DUE]: due } }));
  const send = tool({
    name: "send",
    description: "Sends.",
    run: () => requests.reduce((before, request) => before.then(() => fetch("https://example.com/", request)).then(() => ""), Promise.resolve()),
  });
  try {
    await host.call(send);
  } finally {
    Date.now = now;
  }
  assert.deepEqual(host.requests.map(({ timeout }) => timeout), [50, 200, 200, 1, 50, undefined, undefined, undefined]);
});

test("headers, forms and blobs are those of browsers", async () => {
  for (const Kind of [Headers, native.Headers]) {
    const headers = new Kind([["A", "1"], ["a", "2"], ["b", "3"]]);
    headers.delete("B");
    headers.append("Set-Cookie", "c");
    headers.append("set-cookie", "d");
    headers.append("9", "4");
    const seen = [];
    headers.forEach((value, name) => seen.push([name, value]));
    assert.deepEqual(seen, [["9", "4"], ["a", "1, 2"], ["set-cookie", "c"], ["set-cookie", "d"]]);
    assert.deepEqual([[...headers], [...headers.entries()], [...headers.keys()]], [seen, seen, ["9", "a", "set-cookie", "set-cookie"]]);
    assert.deepEqual([headers.get("a"), headers.has("b"), headers.getSetCookie()], ["1, 2", false, ["c", "d"]]);
  }
  for (const [Form, Piece] of [[FormData, Blob], [globalThis.FormData, globalThis.Blob]]) {
    const form = new Form();
    form.append("a", "1");
    form.append("b", new Piece(["x", new Uint8Array([121])]), "b.txt");
    form.append("a", 2);
    form.set("a", "3");
    assert.deepEqual([...form.keys(), form.get("b").name, form.get("b").size, await form.get("b").slice(1).text()], ["a", "b", "b.txt", 2, "y"]);
    assert.deepEqual([form.getAll("a"), form.get("c"), form.has("b")], [["3"], null, true]);
  }
  // A content that has the first line between parts.
  const form = new FormData();
  form.append("a", new File(["--portcullis-form-0"], "a"));
  const { headers } = new Request("https://example.com/", { body: form });
  assert.equal(headers.get("content-type"), "multipart/form-data; boundary=portcullis-form-1");
  const [almost, both] = [new FormData(), new FormData()];
  almost.append("a", new File([new Uint8Array([0xff]), "pportcullis-form-", "p"], "a"));
  both.append("a", "portcullis-form-1");
  both.append("b", "p\u{e4}pportcullis-form-0");
  const typeOf = (body) => new Request("https://example.com/", { body }).headers.get("content-type");
  assert.deepEqual([almost, both].map(typeOf), ["multipart/form-data; boundary=portcullis-form-0", "multipart/form-data; boundary=portcullis-form-2"]);
});

test("text is decoded piece by piece as in Node", () => {
  const bytes = new TextEncoder().encode("\ufeffa\u{e4}\u{20ac}\u{1f600}z");
  for (let size = 1; size < bytes.length; size += 1) {
    for (const options of [{}, { ignoreBOM: true }, { fatal: true }]) {
      const [ours, theirs] = [new Ours("utf-8", options), new TextDecoder("utf-8", options)];
      for (let at = 0; at < bytes.length; at += size) {
        const piece = bytes.slice(at, at + size);
        const stream = at + size < bytes.length;
        assert.equal(ours.decode(piece, { stream }), theirs.decode(piece, { stream }), `${size} at ${at}`);
      }
    }
  }
  assert.throws(() => new Ours("utf-8", { fatal: true }).decode(new Uint8Array([0xff])), TypeError);
  assert.throws(() => new Ours("latin1"), /decodes UTF-8 only here, not latin1/);
  for (const text of ["a\u{20ac}\u{20ac}", "ab\u{1f600}c", "\ud800a\udfff", "abc", ""]) {
    for (let room = 0; room < 9; room += 1) {
      const [ours, theirs] = [new Uint8Array(room), new Uint8Array(room)];
      assert.deepEqual(new OurEncoder().encodeInto(text, ours), new TextEncoder().encodeInto(text, theirs), `${text} into ${room}`);
      assert.deepEqual(ours, theirs);
    }
    assert.deepEqual(new OurEncoder().encode(text), new TextEncoder().encode(text));
  }
});

test("what is malformed is replaced as in Node, wherever it is", () => {
  const theirs = new TextDecoder("utf-8", { ignoreBOM: true });
  // Bytes at both ends of every range that the encoding knows.
  const bytes = [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff];
  const same = (list) => {
    const given = new Uint8Array(list);
    assert.equal(decode(given), theirs.decode(given), Buffer.from(given).toString("hex"));
    // In two pieces of a stream.
    const ours = new Ours("utf-8", { ignoreBOM: true });
    assert.equal(ours.decode(given.slice(0, 2), { stream: true }) + ours.decode(given.slice(2)), theirs.decode(given));
  };
  for (const first of bytes) {
    for (const second of bytes) {
      for (const third of bytes) {
        same([first, second, third]);
        same([0xf1, 0x80, first, second, third]);
      }
    }
  }
});

test("long texts are read and written as short ones", () => {
  for (const letter of ["a", "\u{e4}", "\u{20ac}", "\u{1f600}", "\ud800", "a\u{20ac}"]) {
    // The pieces in which they are read end at each byte of a letter.
    for (const before of ["", "x", "xx", "xxx"]) {
      const text = before + letter.repeat(9000);
      const bytes = new TextEncoder().encode(text);
      assert.ok(Buffer.from(encode(text)).equals(bytes), letter);
      assert.ok(decode(bytes) === text.toWellFormed(), letter);
      bytes[8191] = 0xff;
      assert.ok(decode(bytes) === new TextDecoder().decode(bytes), letter);
    }
  }
});

test("a module of Node that is not there may be looked at, and says on use what there is", () => {
  const absent = createRequire(import.meta.url)("../src/node/absent.cjs");
  const fs = absent("fs", "use `files`");
  const { promises } = fs;
  class Stream extends fs.ReadStream {}
  for (const [use, name] of [
    [() => fs.readFileSync("a"), "fs.readFileSync"],
    [() => promises.readFile("a"), "fs.promises.readFile"],
    [() => new Stream(), "fs.ReadStream"],
  ]) {
    assert.throws(use, { message: `\`${name}\` of Node is not in the sandbox: use \`files\`` });
  }
});
