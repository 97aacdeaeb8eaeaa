// Lets an unmodified TypeScript client make one call of a server's planner, whose calendar lives where the lane says, and
// prints what it saw as one line of JSON.
//
// usage: node planning.mjs PACKAGE ERA LANE CALL URL                      (Streamable HTTP)
//        node planning.mjs PACKAGE ERA LANE CALL -- COMMAND [ARG ...]     (stdio)
//
// PACKAGE is client (@modelcontextprotocol/client, both revisions) or sdk (@modelcontextprotocol/sdk, legacy only). LANE may
// also be request: with this client, as requests on the call's stream. The lanes of this client go through the adapter of
// guest-sdk/clients/typescript. The rest is as in planning.py, and so is the output.
import path from "node:path";
import { pathToFileURL } from "node:url";

import { modules, open } from "./sdks.mjs";

const [packageName, era, lane, callText, ...rest] = process.argv.slice(2);
const target = rest[0] === "--" ? rest.slice(1) : rest;
const { tool: name, arguments: args } = JSON.parse(callText);

// Where `cargo xtask setup` compiles the adapter.
const adapter = path.join(modules, "../portcullis-client/dist/src/index.js");
const { clientTools, tool } = await import(pathToFileURL(adapter));

const served = {};
const asked = {};
const count = (counts, what) => (counts[what] = (counts[what] ?? 0) + 1);
const text = { type: "string" };
const object = (...names) => ({ type: "object", properties: Object.fromEntries(names.map((n) => [n, text])), required: names });

const calendar = {
  "calendar.free_slots": ({ day }) => {
    const hours = Array.from({ length: 8 }, (_, at) => at + 9).filter((hour) => (Number(day.slice(-2)) * 5 + hour) % 4 === 0);
    return { day, slots: hours.map((hour) => `${String(hour).padStart(2, "0")}:00`) };
  },
  "calendar.create_event": ({ day, start, title }) => ({ id: `${day}-${start.slice(0, 2)}`, day, start, title }),
};
const schemas = {
  "calendar.free_slots": object("day"),
  "calendar.create_event": object("day", "start", "title"),
};

function run(wanted, given) {
  count(served, wanted);
  return calendar[wanted](given);
}

/** What the server's words about a tool that somebody stands in for look like. */
const STAND_IN = /calls the tool `(.+?)`.*^The plugin's arguments: (.+?)$/ms;

async function sample(method, params) {
  count(asked, method);
  const [message] = params.messages;
  const [content] = [message.content].flat();
  const [, wanted, given] = STAND_IN.exec(content.text);
  const answer = { type: "tool_use", id: "1", name: "answer", input: run(wanted, JSON.parse(given)) };
  return { role: "assistant", content: answer, model: "script", stopReason: "toolUse" };
}

const declared = ["live", "retry", "request"].includes(lane);
const definitions = Object.keys(calendar).map((own) =>
  tool({ name: own, inputSchema: schemas[own], run: (given) => run(own, given) }),
);
const tools = declared ? clientTools({ tools: definitions, lanes: [lane] }) : undefined;

const sdk = await open(packageName, era);
const client = sdk.make({ sampling: { tools: {} }, ...(tools && { extensions: tools.extensions }) });
sdk.handle(client, "sampling/createMessage", sample);
tools?.attach(client);
const transport = sdk.transport(target);
await client.connect(tools ? tools.over(transport) : transport);
const seen = { client: sdk.name, protocolVersion: sdk.version(client), served, asked };
if (lane === "live") seen.listening = await tools.listen();
try {
  seen.result = await sdk.call(client, { name, arguments: args }, {});
} catch (error) {
  seen.error = { code: error.code, message: error.message ?? String(error), data: error.data };
}
tools?.close();
console.log(JSON.stringify(seen));
await client.close();
// Timers of requests given up would keep the process for a while.
process.exit(0);
