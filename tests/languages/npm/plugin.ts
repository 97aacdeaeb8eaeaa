// What the engine itself does not have, and what packages are refused. tests/libraries/javascript.toml uses the packages of package.json.

import axios from "axios";
import ky from "ky";
import { DateTime } from "luxon";
import { createHash, createHmac, randomBytes, randomInt, randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { inspect } from "node:util";
import { t, tool } from "portcullis-guest";

/** The address of the other server. */
let SERVER: string;
const failed = async (work: () => unknown) => {
  try {
    await work();
    return "nothing failed";
  } catch (error: any) {
    return error.message;
  }
};

const refused: Record<string, () => unknown> = {
  axios: () => axios.get("http://localhost:9/"),
  ky: () => ky.get("http://localhost:9/", { retry: 0 }),
  luxon: () => failed(() => DateTime.utc(2030).setLocale("en-GB").toLocaleString()),
};

const timed = (work: (done: (value: unknown) => void) => void) => new Promise(work);
const hex = (bytes: ArrayBuffer) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => new TextEncoder().encode(text);

const globals: Record<string, () => unknown> = {
  URL: () => [new URL("../x?a=ä#f", "https://münchen.de/p/q").href, new URLSearchParams({ a: "ä b" }).toString()],
  text: () => {
    const [decoder, euro] = [new TextDecoder(), bytes("a€b")];
    const cut = new TextDecoder().decode(new Uint8Array([0xe2, 0x82, 0x61, 0xff]));
    return [decoder.decode(euro.slice(0, 2), { stream: true }), decoder.decode(euro.slice(2)), new TextEncoder().encodeInto("ä€", new Uint8Array(3)), cut];
  },
  async "long text"() {
    const text = await (await fetch(`${SERVER}/long`)).text();
    return [text.length, text.slice(-5)];
  },
  async "long form"() {
    const form = new FormData();
    form.set("a", new Blob([new Uint8Array(1 << 19).fill(0xff)]));
    form.set("b", "x".repeat(1 << 19));
    return Number(await (await fetch(`${SERVER}/length`, { method: "POST", body: form })).text()) > 1 << 20;
  },
  "long buffer": () => {
    const text = "grün ".repeat(50_000);
    const buffer = Buffer.from(text);
    return [buffer.length === Buffer.byteLength(text), buffer.toString() === text, buffer.toString("utf8", 1, 4), buffer.toString("utf8", -1, 2)];
  },
  fatal: () => failed(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255]))),
  crypto: async () => {
    const [one, other] = [crypto.getRandomValues(new Uint8Array(16)), crypto.getRandomValues(new Uint8Array(16))];
    return [hex(one.buffer) === hex(other.buffer), /^[0-9a-f-]{14}4/.test(crypto.randomUUID()), hex(await crypto.subtle.digest("SHA-256", bytes("abc")))];
  },
  random: () => {
    const numbers = Array.from({ length: 1000 }, Math.random);
    return [numbers.every((one) => one >= 0 && one < 1), new Set(numbers).size, numbers[0]];
  },
  "crypto elsewhere": () => failed(() => crypto.subtle.generateKey("Ed25519", true, ["sign"])),
  async timers() {
    const [started, seen] = [Date.now(), [] as unknown[]];
    const late = setTimeout(() => seen.push("late"), 5);
    clearTimeout(late);
    queueMicrotask(() => seen.push("micro"));
    await timed((done) => setTimeout(done, Infinity));
    await timed((done) => setTimeout(done, 40));
    await timed((done) => {
      const id = setInterval(() => seen.push("tick") === 3 && (clearInterval(id), done(0)), 2);
    });
    return [seen, Date.now() - started >= 40];
  },
  "timers that throw": () => failed(() => timed(() => setTimeout(() => JSON.parse("{"), 1))),
  async abort() {
    const [controller, heard] = [new AbortController(), [] as string[]];
    controller.signal.addEventListener("abort", () => heard.push("aborted"));
    controller.abort();
    const late = AbortSignal.timeout(5);
    await timed((done) => late.addEventListener("abort", done));
    return [heard, late.reason.name, await failed(() => fetch(`${SERVER}/echo`, { signal: controller.signal }))];
  },
  async "abort at once"() {
    const [gone, plain] = [AbortSignal.abort(new Error("gone")), AbortSignal.abort()];
    const either = AbortSignal.any([new AbortController().signal, gone]);
    return [gone.aborted, plain.reason.name, either.reason.message, await failed(() => fetch(`${SERVER}/echo`, { signal: gone })),
      await failed(() => AbortSignal.timeout(Infinity))];
  },
  async late() {
    const sent = (timeout: number, time: number, more: AbortSignal[] = []) =>
      failed(() => fetch(`${SERVER}/slow`, { timeout, signal: AbortSignal.any([AbortSignal.timeout(time), ...more]) } as RequestInit));
    return [await sent(60_000, 200), await sent(200, 60_000, [new AbortController().signal])];
  },
  headers: () => [...new Headers([["b", "1"], ["Set-Cookie", "c"], ["a", "2"], ["B", "3"], ["set-cookie", "d"]])],
  structuredClone() {
    const value: any = { at: new Date(0), map: new Map([[1, new Set([2])]]), bytes: new Uint8Array([1]), big: 1n };
    value.self = value;
    const copy = structuredClone(value);
    return [copy.self === copy, copy !== value, copy.at.toISOString(), copy.map.get(1).has(2), copy.bytes[0], String(copy.big)];
  },
  base64: () => [btoa("hi"), atob("aGk="), Buffer.from("grün").toString("base64"), Buffer.from("--__", "base64url").toString("base64url"),
    Buffer.from([255]).toString("base64url"), createHash("md5").update("").digest("base64url"), Buffer.isEncoding("base64URL")],
  // @ts-ignore: there are no types of Node here.
  process: () => [process.env.NODE_ENV, process.env.HOME === undefined, process.cwd(), process.versions.node === undefined],
  async fetch() {
    const form = new FormData();
    form.set("a", "ä");
    form.set("b", new Blob(["x"], { type: "text/csv" }), "b.csv");
    const sent = await (await fetch(new Request(`${SERVER}/echo`, { method: "POST", body: form }))).json();
    const query = await (await fetch(new URL(`${SERVER}/echo`), { method: "POST", body: new URLSearchParams({ a: "b c" }) })).json();
    return [sent.type.split(";")[0], sent.body.replaceAll(/\r\n/g, "|"), query.type, query.body];
  },
  "fetch denied": () => fetch("http://localhost:9/x?secret=1"),
  Intl: () => [new Date(0).toLocaleDateString("en-US"), (1234.5).toLocaleString(), ["b", "Ä", "a"].sort((one, other) => one.localeCompare(other))],
  "Intl elsewhere": () => failed(() => new Date(0).toLocaleDateString("en-GB")),
  async node() {
    const [events, seen, pieces] = [new EventEmitter(), [] as unknown[], [] as string[]];
    events.once("x", (value: unknown) => seen.push(value));
    events.emit("x", 1);
    await pipeline(Readable.from(["a", "b"]), async (source: AsyncIterable<string>) => {
      for await (const piece of source) pieces.push(piece);
    });
    await wait(1);
    return [seen, pieces, basename(join("/a", "../b/c.txt")), inspect({ a: [1] }), createHash("md5").update("").digest("hex"),
      createHmac("sha256", "k").update("d").digest("base64"), randomBytes(70_000).length, randomInt(1), randomUUID().length];
  },
};

const offer = (name: string, description: string, jobs: Record<string, () => unknown>) =>
  tool({
    name,
    description,
    input: { job: t.string("Which."), server: t.string("The address of the other server.") },
    async run({ job, server }) {
      SERVER = server;
      return JSON.stringify(await jobs[job]!());
    },
  });

offer("refuse", "Asks a package for what there is not.", refused);
offer("look", "Uses what the engine does not have.", globals);
