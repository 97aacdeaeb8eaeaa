// A request of which nobody knows whether it happened, when the host has ended meanwhile.

import { fetch, NOT_DONE, reconcile, Response, t, tool } from "portcullis-guest";

tool({
  name: "reserve",
  description: "Reserves a place.",
  execution: "may-run-long",
  input: { name: t.string() },
  async run({ name }) {
    const response = await fetch(`http://localhost:8444/v1/place/${name}`, { method: "POST", json: { name } });
    return `${response.status} ${await response.text()}`;
  },
});

reconcile(async ({ tool: name, args, effect }) => {
  if (name !== "reserve" || effect?.type !== "http" || effect.method !== "POST" || args.name === "lost") {
    return undefined;
  }
  const found = await fetch(effect.url);
  if (found.status === 404) {
    return NOT_DONE;
  }
  return found.ok ? new Response(await found.bytes(), { status: 201, headers: { "content-type": "text/plain" } }) : undefined;
});
