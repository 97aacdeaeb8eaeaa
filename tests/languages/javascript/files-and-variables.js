// Files and variables.

import { env, files, t, tool } from "portcullis-guest";

tool({
  name: "files",
  description: "Uses files.",
  input: { action: t.enum(["write", "read", "list"]), path: t.string(), text: t.string().optional() },
  async run({ action, path, text: words = "" }) {
    switch (action) {
      case "write":
        await files.write(path, words);
        return "written";
      case "read":
        return files.readText(path).catch((error) => {
          if (error.kind === "no-entry") {
            return "nothing";
          }
          throw error;
        });
      default:
        return (await files.list(path)).join(", ");
    }
  },
});

tool({
  name: "variable",
  description: "Reads a variable.",
  input: { name: t.string() },
  run: ({ name }) => env.get(name) ?? "nothing",
});
