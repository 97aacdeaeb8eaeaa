// What `portcullis build` runs for tools whose schemas are made of types:
//   node main.js TYPESCRIPT_MODULE PLUGIN_FOLDER MAIN_FILE OUTPUT
// It checks the types of the plugin, and writes `{ name: { input, output } }`, each schema as text. Problems go to stderr, each
// with its place.

import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { typedTools } from "./calls.js";
import { Program } from "./program.js";

/** So many problems are shown; more than one cause is rarely behind more. */
const MAX_SHOWN = 20;

const [module, folder, main, output] = process.argv.slice(2);
const { default: ts } = await import(pathToFileURL(module));
const program = new Program(ts, folder, main);
// Types with mistakes make no sense as schemas.
const schemas = program.problems.length > 0 ? {} : typedTools(program);
if (program.problems.length > 0) {
  const { problems } = program;
  const more = problems.length > MAX_SHOWN ? [`and ${problems.length - MAX_SHOWN} more`] : [];
  process.stderr.write(`${[...problems.slice(0, MAX_SHOWN), ...more].join("\n")}\n`);
  process.exitCode = 1;
} else {
  writeFileSync(output, JSON.stringify(schemas));
}
