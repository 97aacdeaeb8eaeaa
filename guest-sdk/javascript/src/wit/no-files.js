// For a plugin whose manifest requests no `filesystem` and no `scratch`: there are no files.

import { Denied } from "../errors.js";
import { provide } from "../host.js";

const denied = (path) => {
  throw new Denied("filesystem", path);
};

provide({ readFile: denied, writeFile: denied, listFiles: denied, removeFile: denied });
