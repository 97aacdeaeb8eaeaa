// For a plugin whose manifest requests no `env`: there are no variables.

import { provide } from "../host.js";

provide({ variables: () => [] });
