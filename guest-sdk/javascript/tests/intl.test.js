// What the sandbox formats is what Node formats; what it cannot format is refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Collator } from "../src/intl/collator.js";
import { DateTimeFormat } from "../src/intl/date-time.js";
import { NumberFormat, PluralRules } from "../src/intl/number.js";

const UTC = { timeZone: "UTC" };
const DATES = [0, Date.UTC(2030, 4, 6, 7, 8, 9, 7), Date.UTC(1999, 11, 31, 23, 59, 59, 999), Date.UTC(2024, 1, 29, 12), -1e14, Date.UTC(2001, 0, 1)];
const MAY = Date.UTC(2030, 4, 6, 7, 8, 9, 7);

/** Each subset of the choices, with none of each as one of them. */
function* combinations([first, ...others]) {
  if (first === undefined) {
    yield {};
    return;
  }
  for (const rest of combinations(others)) {
    yield rest;
    for (const value of first[1]) {
      yield { ...rest, [first[0]]: value };
    }
  }
}

function attempt(make) {
  try {
    return make();
  } catch (error) {
    assert.ok(error instanceof RangeError || error instanceof TypeError, error.stack);
    return undefined;
  }
}

function same(choices, Ours, Theirs, values, more = {}) {
  let [formatted, refused] = [0, 0];
  for (const options of combinations(Object.entries(choices))) {
    const ours = attempt(() => new Ours("en-US", { ...more, ...options }));
    if (!ours) {
      refused += 1;
      continue;
    }
    const theirs = new Theirs("en-US", { ...more, ...options });
    formatted += 1;
    for (const value of values) {
      assert.equal(ours.format(value), theirs.format(value), `${JSON.stringify(options)} of ${value}`);
      assert.deepEqual(ours.formatToParts(value), partsOf(theirs, value), `${JSON.stringify(options)} of ${value}`);
    }
  }
  return { formatted, refused };
}

// Node writes the narrow space before AM as a plain one, in whole texts only.
const partsOf = (theirs, value) => theirs.formatToParts(value).map(({ type, value: text }) => ({ type, value: text.replace("\u202f", " ") }));

test("dates are formatted as Node does", () => {
  const dates = { weekday: ["long", "short"], month: ["numeric", "2-digit", "long", "short", "narrow"], day: ["numeric", "2-digit"], year: ["numeric", "2-digit"] };
  const { formatted, refused } = same({ ...dates, era: ["short"] }, DateTimeFormat, Intl.DateTimeFormat, DATES, UTC);
  assert.ok(formatted > 150 && refused > 50, `${formatted} ${refused}`);
});

test("times are formatted as Node does", () => {
  const number = ["numeric", "2-digit"];
  const times = { hour: number, minute: number, second: number, fractionalSecondDigits: [1, 3], hourCycle: ["h11", "h12", "h23", "h24"], timeZoneName: ["short", "long"] };
  const { formatted } = same(times, DateTimeFormat, Intl.DateTimeFormat, DATES, UTC);
  assert.ok(formatted > 300, `${formatted}`);
});

test("dates with times, and styles, are formatted as Node does", () => {
  const some = { weekday: ["long"], month: ["numeric", "long", "short"], day: ["numeric"], year: ["numeric"], hour: ["numeric"], minute: ["2-digit"], timeZoneName: ["short"] };
  assert.ok(same(some, DateTimeFormat, Intl.DateTimeFormat, DATES, UTC).formatted > 50);
  const styles = ["full", "long", "medium", "short"];
  assert.equal(same({ dateStyle: styles, timeStyle: styles }, DateTimeFormat, Intl.DateTimeFormat, DATES, UTC).formatted, 25);
  // What luxon asks for to find an offset.
  const luxon = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", era: "short", ...UTC };
  assert.deepEqual(new DateTimeFormat("en-US", luxon).formatToParts(MAY), new Intl.DateTimeFormat("en-US", luxon).formatToParts(MAY));
});

test("what the methods of dates take is as in Node", () => {
  const date = new Date(MAY);
  for (const options of [undefined, {}, { weekday: "short" }, { hour: "numeric" }, { month: "long" }]) {
    const ours = (needed, filled) => attempt(() => new DateTimeFormat("en-US", { ...options }, needed, filled).format(date));
    const theirs = (name) => date[name]("en-US", { ...options, ...UTC });
    assert.equal(ours("date", "date"), theirs("toLocaleDateString"), JSON.stringify(options));
    assert.equal(ours("time", "time"), theirs("toLocaleTimeString"), JSON.stringify(options));
    assert.equal(ours("any", "all"), theirs("toLocaleString"), JSON.stringify(options));
  }
});

test("another locale or zone is an error that says what to do", () => {
  assert.throws(() => new DateTimeFormat("en-GB"), /^RangeError: the sandbox formats for the locale en-US only, not en-GB\. Write the format out, .*date-fns/);
  assert.throws(() => new NumberFormat(["de-DE", "en-US"]), /not de-DE/);
  assert.throws(() => new Collator("sv"), /not sv/);
  assert.throws(() => new DateTimeFormat("en-US", { timeZone: "Europe/Oslo" }), /^RangeError: the sandbox knows the time zone UTC only, not Europe\/Oslo; .*moment-timezone/);
  assert.throws(() => new DateTimeFormat("en", { month: "medium" }), /knows month: "numeric", "2-digit", "long", "short", "narrow", not "medium"/);
  assert.throws(() => new NumberFormat("en", { notation: "compact" }), /knows notation: "standard", not "compact"/);
  assert.throws(() => new DateTimeFormat().format(NaN), /^RangeError: Invalid time value$/);
  assert.deepEqual(DateTimeFormat.supportedLocalesOf(["de", "en", "en-US", "en-GB"]), ["en", "en-US"]);
  const { locale, timeZone, year } = new DateTimeFormat().resolvedOptions();
  assert.deepEqual([locale, timeZone, year], ["en-US", "UTC", "numeric"]);
});

const NUMBERS = [0, -0, 1, -1, 0.5, 1.005, 2.5, 1234.5, -1234567.891, 1e21, 1.5e-7, 0.1 + 0.2, 999.9995, NaN, Infinity, -Infinity, 12345678901234567890n, -5n];

test("numbers are formatted as Node does", () => {
  const digits = { minimumFractionDigits: [0, 2], maximumFractionDigits: [0, 1, 4], minimumIntegerDigits: [3], useGrouping: [true, false] };
  assert.ok(same({ ...digits, style: ["percent"] }, NumberFormat, Intl.NumberFormat, NUMBERS).formatted > 40);
  const currencies = [...Intl.supportedValuesOf("currency")];
  const { formatted } = same({ currency: currencies, currencyDisplay: ["code"] }, NumberFormat, Intl.NumberFormat, [1234.5, -1], { style: "currency" });
  assert.ok(formatted > 200, `${formatted}`);
  for (const options of [{}, { style: "percent" }, { style: "currency", currency: "JPY" }, { maximumFractionDigits: 1 }]) {
    const theirs = new Intl.NumberFormat("en-US", options).resolvedOptions();
    assert.deepEqual(new NumberFormat("en-US", options).resolvedOptions(), theirs);
  }
});

test("plurals are those of Node", () => {
  for (const type of ["cardinal", "ordinal"]) {
    const [ours, theirs] = [new PluralRules("en", { type }), new Intl.PluralRules("en", { type })];
    for (const count of [0, 1, 1.0001, 1.5, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111, -1]) {
      assert.equal(ours.select(count), theirs.select(count), `${type} ${count}`);
    }
  }
});

test("words are sorted as Node does", () => {
  const words = ["", "a", "A", "b", "B", "z", "Zoë", "zoe", "Zoe", "é", "e", "f", "résumé", "resume", "Resume", "file 10", "file 9", "file2", "co-op", "coop", "CO-OP",
    "ß", "ss", "st", "ø", "o", "p", "æ", "ad", "ae", "af", "1", "10", "2", "a b", "ab", "_x", "x", "łódź", "lodz", "naïve", "naive", "ñ", "n", "o'neil", "oneil", "100%", "$5"];
  for (const options of [{}, { numeric: true }, { sensitivity: "base" }, { sensitivity: "accent" }, { sensitivity: "case" }]) {
    const [ours, theirs] = [new Collator("en", options), new Intl.Collator("en", options)];
    for (const one of words) {
      for (const other of words) {
        assert.equal(ours.compare(one, other), theirs.compare(one, other), `${JSON.stringify(options)}: ${one} ${other}`);
      }
    }
  }
});
