// Intl.Collator for English: the order of words in the Latin alphabet, with accents. Letters of other alphabets come after it, by their
// numbers in Unicode.

import { localeOf, oneOf, supported } from "./locale.js";

const ORDER = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";
// Letters that are others with a mark, which Unicode does not take apart.
const LETTERS = { æ: "ae", đ: "d", ħ: "h", ı: "i", ł: "l", ø: "o", œ: "oe", ß: "ss" };

const weight = (letter) => {
  const at = ORDER.indexOf(letter);
  return at >= 0 ? at + 1 : /\s/.test(letter) ? 0 : ORDER.length + letter.codePointAt(0);
};

/** What is compared first, second and third: letters, marks, capitals. */
function keysOf(text) {
  const [letters, marks, capitals] = [[], [], []];
  for (const one of text.normalize("NFD")) {
    if (/\p{M}/u.test(one)) {
      marks[letters.length - 1] = `${marks[letters.length - 1] ?? ""}${one}`;
      continue;
    }
    const small = one.toLowerCase();
    for (const letter of LETTERS[small] ?? small) {
      letters.push(letter);
      marks.push(small in LETTERS ? small : "");
      capitals.push(one === small ? 0 : 1);
    }
  }
  return { letters, marks, capitals };
}

function compareLists(one, other, compare) {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const order = compare(one[at], other[at]);
    if (order !== 0) {
      return order;
    }
  }
  return one.length - other.length;
}

const byText = (one, other) => (one === other ? 0 : one < other ? -1 : 1);

/** Runs of digits as numbers. */
const numbered = (letters) => letters.join("\0").replace(/\d(\0\d)*/g, (run) => run.replaceAll("\0", "")).split("\0");

const isNumber = (piece) => /^\d+$/.test(piece);

function comparePieces(one, other) {
  if (isNumber(one) && isNumber(other)) {
    const [left, right] = [BigInt(one), BigInt(other)];
    return left === right ? 0 : left < right ? -1 : 1;
  }
  return weight(one[0] ?? "") - weight(other[0] ?? "");
}

export class Collator {
  #options;
  #bound;

  constructor(locales, options = {}) {
    const locale = localeOf(locales);
    const usage = oneOf(options, "usage", ["sort", "search"]) ?? "sort";
    const sensitivity = oneOf(options, "sensitivity", ["base", "accent", "case", "variant"]) ?? "variant";
    oneOf(options, "ignorePunctuation", [false]);
    const caseFirst = oneOf(options, "caseFirst", ["false", "lower"]) ?? "false";
    this.#options = { locale, usage, sensitivity, ignorePunctuation: false, collation: "default", numeric: Boolean(options.numeric), caseFirst };
  }

  static supportedLocalesOf(locales) {
    return supported(locales);
  }

  get compare() {
    this.#bound ??= (one, other) => this.#compare(String(one), String(other));
    return this.#bound;
  }

  #compare(one, other) {
    if (one === other) {
      return 0;
    }
    const { sensitivity, numeric } = this.#options;
    const [left, right] = [keysOf(one), keysOf(other)];
    const pieces = ({ letters }) => (numeric ? numbered(letters) : letters);
    let order = compareLists(pieces(left), pieces(right), comparePieces);
    if (order === 0 && ["accent", "variant"].includes(sensitivity)) {
      order = compareLists(left.marks, right.marks, byText);
    }
    if (order === 0 && ["case", "variant"].includes(sensitivity)) {
      order = compareLists(left.capitals, right.capitals, (a, b) => a - b);
    }
    return Math.sign(order);
  }

  resolvedOptions() {
    return { ...this.#options };
  }

  get [Symbol.toStringTag]() {
    return "Intl.Collator";
  }
}
