// Requests with accounts that users have connected.

import connections from "portcullis:plugin/connections@0.1.0";

import { AccountError } from "../errors.js";
import { provide } from "../host.js";
import { Response } from "../http-message.js";
import { COMMON, kinds, made } from "./values.js";

const ACCOUNT = {
  ...COMMON,
  ...kinds(AccountError, {
    "not-connected": () => "the account is not connected",
    invalid: (why) => `the request cannot be sent: ${why}`,
    timeout: (after) => `no answer within ${after} ms`,
    failed: (why) => `the other server failed: ${why}`,
  }),
};

provide({
  connected: (name) => made(() => connections.connected(name), ACCOUNT),
  send(name, { method, url, headers, body }) {
    const answer = made(() => connections.send(name, { method, path: url, headers, body }), ACCOUNT);
    return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers });
  },
});
