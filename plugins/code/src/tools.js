// The three tools, without the imports that they use.

import { declare, signature } from "./declarations.js";
import { runProgram } from "./program.js";
import { search } from "./search.js";

/// Tools in one answer of `search_tools`.
const FOUND = 20;
/// Characters of a description in a list.
const SHORT = 160;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

const object = (properties, required) =>
  JSON.stringify({ $schema: DIALECT, type: "object", properties, required, additionalProperties: false });

const READS = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

export const definitions = [
  {
    name: "search_tools",
    title: "Search tools",
    description: "Finds tools that programs of `run_code` can call. Returns each with its signature.",
    inputSchema: object({ query: { type: "string", description: "Words that say what is to be done. Empty: all tools, by name." } }, ["query"]),
    outputSchema: null,
    annotations: READS,
    execution: "inline",
    icons: [],
  },
  {
    name: "describe_tool",
    title: "Describe a tool",
    description: "Returns the TypeScript declaration of one tool, with what each argument means.",
    inputSchema: object({ name: { type: "string", description: "As `search_tools` returned it, such as notes.add." } }, ["name"]),
    outputSchema: null,
    annotations: READS,
    execution: "inline",
    icons: [],
  },
  {
    name: "run_code",
    title: "Run code",
    description:
      "Runs a JavaScript or TypeScript program that calls tools: `await tools.notes.add({ text: \"milk\" })`. Calls of one `Promise.all` run " +
      "at the same time. `return` what you want to know, and no more: intermediate results stay in the program. `console.log` shows " +
      "progress. A call that fails throws an error with `code` and `message`. There are no modules, no network and no files but by tools.",
    inputSchema: object({ code: { type: "string", description: "The program: statements, with `await` and `return` at the top level." } }, ["code"]),
    outputSchema: object(
      {
        result: { description: "What the program returned." },
        error: { type: "string", description: "Why it failed." },
        output: { type: "string", description: "What it printed." },
        calls: {
          type: "array",
          description: "The calls it made.",
          items: {
            type: "object",
            properties: {
              tool: { type: "string" },
              outcome: { type: "string" },
              times: { type: "integer" },
              fuel: { type: "integer", description: "About what they cost together." },
            },
            required: ["tool", "outcome", "times", "fuel"],
          },
        },
      },
      ["calls"],
    ),
    annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    execution: "may-run-long",
    icons: [],
  },
];

const text = (words) => ({ data: { tag: "text", val: words }, annotations: null });
const said = (words, isError = false) => ({ content: [text(words)], structured: null, isError });

/// Runs one of the tools.
export function callTool(name, args, host) {
  switch (name) {
    case "search_tools":
      return searchTools(args.query, host);
    case "describe_tool":
      return describeTool(args.name, host);
    case "run_code":
      return runCode(args.code, host);
    default:
      throw { tag: "invalid-arguments", val: `there is no tool named ${name}` };
  }
}

function searchTools(query, host) {
  const tools = host.listTools();
  const found = search(tools, query, FOUND);
  if (found.length === 0) return said(`None of ${tools.length} tools has these words.`);
  const lines = found.map((tool) => `${tool.name}: ${brief(tool.description)}\n  ${signature(tool, false)}`);
  const more = found.length < tools.length ? `\n(${found.length} of ${tools.length} tools)` : "";
  return said(lines.join("\n") + more);
}

function brief(description) {
  const words = description.replace(/\s+/g, " ").trim();
  const sentence = /^.*?[.!?](?= |$)/.exec(words)?.[0] ?? words;
  return sentence.length > SHORT ? `${sentence.slice(0, SHORT)}…` : sentence;
}

function describeTool(name, host) {
  const tools = host.listTools();
  const tool = tools.find((one) => one.name === name || one.name === name.replace("__", "."));
  if (tool) return said(declare(tool));
  const near = search(tools, name, 3).map((one) => one.name);
  const hint = near.length > 0 ? ` Did you mean ${near.join(", ")}?` : "";
  return said(`There is no tool \`${name}\` that a program could call.${hint}`, true);
}

function runCode(code, host) {
  const { result, error, output, calls } = runProgram(code, host);
  const isError = error !== undefined;
  const printed = output === "" ? {} : { output };
  const structured = JSON.stringify({ ...(isError ? { error } : { result }), ...printed, calls });
  return { content: [text(structured)], structured, isError };
}
