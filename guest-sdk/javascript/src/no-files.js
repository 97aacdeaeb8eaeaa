// For a plugin whose manifest requests no `filesystem` and no `scratch`: there are no files.

import { Denied } from "./errors.js";

const denied = (path) => {
  throw new Denied("filesystem", path);
};

export const files = { readFile: denied, writeFile: denied, listFiles: denied, removeFile: denied };
