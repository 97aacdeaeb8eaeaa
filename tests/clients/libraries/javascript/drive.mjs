// Lets one MCP client library list a server's tools and call some, and prints what a model would read.
//
// usage: drive.mjs ADAPTER PACKAGE < JOB, from a copy beside `node_modules`
//
// Jobs and events are those of ../python/drive.py. An adapter is a file beside this one that exports `connect(server)`,
// which gives the tools' names and functions that call one and close.
import { readFileSync, writeSync } from "node:fs";

const say = (event) => {
  // All of it: a pipe takes 64 KiB at a time.
  const bytes = Buffer.from(JSON.stringify(event) + "\n");
  for (let at = 0; at < bytes.length; ) {
    at += writeSync(1, bytes, at);
  }
};
const text = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));
/** The error with all that caused it. */
const reason = (error) => (error?.cause instanceof Error ? `${error}; ${reason(error.cause)}` : String(error));

// Libraries print too: only events go to stdout.
console.log = console.info = console.debug = console.error;
const [adapter, name] = process.argv.slice(2);
const manifest = new URL(`./node_modules/${name}/package.json`, import.meta.url);
say({ version: JSON.parse(readFileSync(manifest, "utf8")).version });
const { url, command: [command, ...args] = [], calls } = JSON.parse(readFileSync(0, "utf8"));
const { connect } = await import(`./${adapter}.mjs`);
const { tools, call, close } = await connect({ url, command, args });
say({ tools });
for (const [tool, input] of calls) {
  try {
    say({ read: text(await call(tool, input)) });
  } catch (error) {
    say({ read: reason(error) });
  }
}
await close();
process.exit(0);
