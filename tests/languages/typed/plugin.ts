// Tools whose schemas `portcullis build` makes of types, and one beside them whose schema is written.

import { failure, t, tool, typedTool } from "portcullis-guest";

import type { Order, Part, Receipt } from "./orders.ts";

typedTool<Order, Receipt>({
  name: "order",
  description: "Takes an order.",
  async run({ customer, items, deliver, shipping, perParcel = 10 }) {
    if (customer === "nobody") {
      return failure("nobody orders nothing");
    }
    const count = items.reduce((sum, { quantity }) => sum + quantity, 0);
    return { parcels: Math.ceil(count / perParcel), shipping: shipping ?? "unknown", deliver: deliver ?? undefined };
  },
});

typedTool<Part>({
  name: "count",
  description: "Counts parts.",
  readOnly: true,
  run: (part) => `${count(part)}`,
});

function count({ parts = [] }: Part): number {
  return parts.reduce((sum, part) => sum + count(part), 1);
}

tool({
  name: "greet",
  description: "Greets somebody by name.",
  input: { name: t.string("Whom to greet.") },
  run: ({ name }) => `Hello, ${name}!`,
});
