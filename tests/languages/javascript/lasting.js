// A task that listens, and goes on in another process; and what is left to a call.

import { checkpoint, emit, meter, steering, t, tool } from "portcullis-guest";

tool({
  name: "march",
  description: "Marches as it is told.",
  execution: "task-only",
  input: { steps: t.integer().range(1, 9) },
  async run({ steps }) {
    const march = (await checkpoint.restored()) ?? { said: [] };
    while (march.said.length < steps) {
      await emit(`at step ${march.said.length}`);
      const { message } = await steering.receive();
      if (message === undefined) {
        break;
      }
      if (message === "halt") {
        return `halted after ${march.said.join(", ")}`;
      }
      march.said.push(message);
      await checkpoint.save(march);
    }
    return march.said.join(", ");
  },
});

tool({
  name: "listen",
  description: "Listens for a moment.",
  async run() {
    const first = steering.next() ?? "nothing";
    const { message, ended } = await steering.receive(1);
    return `${first}, ${message ?? (ended ? "ended" : "timed out")}`;
  },
});

tool({
  name: "budget",
  description: "Says whether anything is left.",
  run: () => `${meter.fuelLeft() > 0}, ${meter.deadlineLeft() > 0}`,
});
