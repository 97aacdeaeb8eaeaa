// For a plugin whose manifest requests no `http`: nothing is sent.

import { Denied } from "../errors.js";
import { provide } from "../host.js";
import { target } from "../http-message.js";

provide({
  http(request) {
    throw new Denied("http", target(request));
  },
});
