// The tool `greet`, written straight on the WIT: componentize-qjs binds wit/v0.1 to this module.
//
// WIT names become JavaScript's: `list-tools` is `listTools` and the interface `tools` one exported object, records are
// objects with camelCase keys, a variant is `{ tag, val }`, an enum its case's name, an option the value or null, and
// an error is thrown as the bare value of the WIT's error type.
import log from "portcullis:plugin/log@0.1.0";
import output from "portcullis:plugin/output@0.1.0";

const INPUT = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { name: { type: "string", description: "Whom to greet." } },
  required: ["name"],
  additionalProperties: false,
};

const text = (words) => ({ data: { tag: "text", val: words }, annotations: null });

export const tools = {
  listTools() {
    return [
      {
        name: "greet",
        title: "Greet",
        description: "Says hello, from JavaScript.",
        inputSchema: JSON.stringify(INPUT),
        outputSchema: null,
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
        execution: "inline",
        icons: [],
      },
    ];
  },

  callTool(ctx, name, args) {
    if (name !== "greet") {
      throw { tag: "invalid-arguments", val: `there is no tool named ${name}; this plugin has greet` };
    }
    const whom = JSON.parse(args).name;
    log.write("info", `greeting ${whom}`);
    try {
      output.emit([text(`looking for ${whom} ...`)]);
    } catch {
      // A chunk only shows work in progress; the result is complete without it.
    }
    return { content: [text(`Hello, ${whom}!`)], structured: null, isError: false };
  },
};
