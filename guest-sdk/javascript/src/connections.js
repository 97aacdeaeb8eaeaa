// Accounts that users have connected: the host holds the credentials, and a plugin uses them without ever seeing them. The manifest
// requests them, `"connections": ["github"]`, and the operator grants them and sets them up.

import "#wit/connections";

import { host } from "./host.js";
import { outgoing } from "./http-message.js";

/** Whether the user of this call has connected the account; `connect` asks for it. */
export const connected = async (name) => host().connected(name);

/**
 * Sends a request with the account's credentials, which the host adds; the method is GET, POST, PUT, PATCH or DELETE. `path` is path and
 * query below the address of the connection. Redirects are not followed.
 */
async function send(name, path, options = {}) {
  return host().send(name, outgoing(path, options));
}

export { send as fetch };
