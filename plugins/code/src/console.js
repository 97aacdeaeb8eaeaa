// `console`: each line is a chunk of the call, for whoever watches, and part of the result, for the model.

/// Characters that are kept for the result. A model pays for each; more is in the chunks.
const KEPT = 16_384;
/// Characters that are sent as chunks. Chunks and the result share the output of the call: a program that prints much still has its
/// result.
const SENT = 262_144;
/// Characters of one line. Bounds the work of a program that prints a huge value.
const LONGEST = 65_536;

export class Console {
  #emit;
  #kept = "";
  #left = 0;
  #isOpen = true;
  #sent = 0;

  /// `emit` sends a chunk; it returns false once no more are taken.
  constructor(emit) {
    this.#emit = emit;
    const write = (prefix) => (...values) => this.#write(prefix + values.map(show).join(" "));
    const plain = write("");
    this.console = { log: plain, info: plain, debug: plain, warn: write("warning: "), error: write("error: ") };
  }

  #write(words) {
    const line = words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
    this.#sent += line.length + 1;
    this.#isOpen &&= this.#sent <= SENT && this.#emit(`${line}\n`);
    const room = KEPT - this.#kept.length;
    this.#kept += `${line}\n`.slice(0, room);
    this.#left += Math.max(line.length + 1 - room, 0);
  }

  /// What was printed, and how much of it is left out.
  text() {
    return this.#left > 0 ? `${this.#kept}\n… ${this.#left} characters more` : this.#kept;
  }
}

function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
