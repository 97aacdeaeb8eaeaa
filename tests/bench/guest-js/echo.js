// The echo that the benchmark measures, in JavaScript and written straight on the WIT.
const schema = {
  type: "object",
  properties: { text: { type: "string", maxLength: 1048576 } },
  required: ["text"],
  additionalProperties: false,
};

export const tools = {
  listTools() {
    return [
      {
        name: "echo",
        title: null,
        description: "Says the text again.",
        inputSchema: JSON.stringify(schema),
        outputSchema: null,
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
        execution: "inline",
        icons: [],
      },
    ];
  },

  callTool(ctx, name, args) {
    const { text } = JSON.parse(args);
    return { content: [{ data: { tag: "text", val: text }, annotations: null }], structured: null, isError: false };
  },
};
