// Lets an unmodified TypeScript client answer a server's questions and prints what it saw as one line of JSON.
//
// usage: node asking.mjs PACKAGE ERA SCRIPT URL                      (Streamable HTTP)
//        node asking.mjs PACKAGE ERA SCRIPT -- COMMAND [ARG ...]     (stdio)
//
// PACKAGE is client (@modelcontextprotocol/client, both revisions) or sdk (@modelcontextprotocol/sdk, legacy only). The rest
// is as in asking.py, and so is the output.
import { open } from "./sdks.mjs";

const [packageName, era, scriptText, ...rest] = process.argv.slice(2);
const script = JSON.parse(scriptText);
const target = rest[0] === "--" ? rest.slice(1) : rest;

// How long a question may stay open after its call was cancelled.
const WITHDRAWAL_MS = 5000;
// How long to wait for progress that is still under way.
const LATE_PROGRESS_MS = 1000;

const sdk = await open(packageName, era);

/** The questions of the call that is running. */
let now;

function begin(call) {
  now = { call, asked: [], progress: [], withdrawn: false };
  for (const moment of ["wasAsked", "wasAnswered", "wasWithdrawn"]) {
    now[moment] = new Promise((resolve) => (now[`${moment}Now`] = resolve));
  }
  return now;
}

/** Notes a question and says whether the user agrees. */
async function hear(method, params, signal) {
  const mine = now;
  mine.asked.push({ method, params, fields: Object.keys(params.requestedSchema?.properties ?? {}) });
  mine.wasAskedNow();
  if (mine.call.answer === "never") {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    mine.withdrawn = true;
    mine.wasWithdrawnNow();
    throw new Error("withdrawn");
  }
  mine.wasAnsweredNow();
  return mine.call.answer !== "decline";
}

async function elicit(method, params, signal) {
  if (!(await hear(method, params, signal))) return { action: "decline" };
  return params.mode === "url" ? { action: "accept" } : { action: "accept", content: now.call.content };
}

async function sample(method, params, signal) {
  await hear(method, params, signal);
  return { role: "assistant", content: { type: "text", text: "Paris" }, model: "script", stopReason: "endTurn" };
}

async function roots(method, params, signal) {
  await hear(method, params, signal);
  return { roots: [{ uri: "file:///repo", name: "repo" }] };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function make(client, call) {
  const mine = begin(call);
  const abort = new AbortController();
  const params = {
    name: call.tool,
    arguments: call.arguments,
    _meta: { "dev.portcullis/correlationId": call.name },
  };
  const onprogress = ({ message = null }) => mine.progress.push(message);
  const seen = { name: call.name, asked: mine.asked, progress: mine.progress };
  const calling = sdk.call(client, params, { onprogress, signal: abort.signal }).then(
    (result) => (seen.result = result),
    (error) => (seen.error = { code: error.code, message: error.message ?? String(error), data: error.data }),
  );
  if (call.answer === "never") {
    await Promise.race([calling, mine.wasAsked]);
    abort.abort("cancelled by the client");
  }
  if (call.answer === "stop") {
    await mine.wasAnswered;
    await Promise.race([calling, pause(call.stop_ms)]);
    abort.abort("cancelled by the client");
  }
  await calling;
  const end = performance.now() + LATE_PROGRESS_MS;
  // The client's own reports count too, so this may wait for less than there is; what is lost is lost either way.
  while (mine.progress.length < call.reports && performance.now() < end) await pause(10);
  if (call.answer === "never") {
    await Promise.race([mine.wasWithdrawn, pause(WITHDRAWAL_MS)]);
    seen.withdrawn = mine.withdrawn;
  }
  return seen;
}

const calls = {};
let protocolVersion;
for (const able of [true, false]) {
  const mine = script.filter((call) => (call.answer !== "unable") === able);
  if (mine.length === 0) continue;
  const client = sdk.make(able ? { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} } : {});
  if (able) {
    sdk.handle(client, "elicitation/create", elicit);
    sdk.handle(client, "sampling/createMessage", sample);
    sdk.handle(client, "roots/list", roots);
  }
  await client.connect(sdk.transport(target));
  protocolVersion = sdk.version(client);
  for (const call of mine) calls[call.name] = await make(client, call);
  await client.close();
}
console.log(JSON.stringify({ client: sdk.name, protocolVersion, calls: script.map((call) => calls[call.name]) }));
// Timers of requests given up would keep the process for a while.
process.exit(0);
