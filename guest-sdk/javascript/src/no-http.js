// For a plugin whose manifest requests no `http`: nothing is sent.

import { Denied } from "./errors.js";
import { target } from "./http.js";

export const http = (request) => {
  throw new Denied("http", target(request));
};
