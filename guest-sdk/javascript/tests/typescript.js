// Makes schemas of a module in TypeScript, as the build does. TypeScript is that of the tests of clients.

import assert from "node:assert/strict";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import ts from "../../../target/node/node_modules/typescript/lib/typescript.js";
import { typedTools } from "../schemas/calls.js";
import { Program } from "../schemas/program.js";

/** In which the module is. */
export const folder = await realpath(await mkdtemp(join(tmpdir(), "schemas-")));
after(() => rm(folder, { recursive: true }));

const IMPORT = 'import { type Content, type integer, tool, typedTool, t } from "portcullis-guest";\n';

/** What is made of a module, or the problems that it has. */
export async function made(text, files = {}) {
  for (const [name, body] of Object.entries({ ...files, "plugin.ts": IMPORT + text })) {
    await writeFile(join(folder, name), body);
  }
  const program = new Program(ts, folder, join(folder, "plugin.ts"));
  const tools = program.problems.length > 0 ? {} : typedTools(program);
  const parsed = Object.entries(tools).map(([name, { input, output }]) => [
    name,
    { input: JSON.parse(input), output: output && JSON.parse(output) },
  ]);
  return { tools: Object.fromEntries(parsed), problems: program.problems };
}

/** The schemas of a module that has no problem. */
export async function schemas(text, files) {
  const { tools, problems } = await made(text, files);
  assert.deepEqual(problems, []);
  return tools;
}
