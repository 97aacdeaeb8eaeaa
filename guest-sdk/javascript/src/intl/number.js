// Intl.NumberFormat and Intl.PluralRules for en-US. What they do not know they refuse.

import { localeOf, oneOf, refuse, supported } from "./locale.js";

const SYMBOLS = {
  AUD: "A$", BRL: "R$", CAD: "CA$", CNY: "CN¥", EUR: "€", GBP: "£", HKD: "HK$", ILS: "₪", INR: "₹", JPY: "¥", KRW: "₩", MXN: "MX$",
  NZD: "NZ$", PHP: "₱", TWD: "NT$", USD: "$", VND: "₫",
};
// Their signs change with the data's versions.
const REFUSED = ["XAF", "XCD", "XCG", "XOF", "XPF"];
const WITHOUT_CENTS =
  "AFN ALL BIF CLP COP DJF GNF HUF IDR IQD IRR ISK JPY KMF KPW KRW LAK LBP MGA MMK PKR PYG RWF SLL SOS SYP UGX VND VUV YER".split(" ");
const WITH_MILLS = ["BHD", "JOD", "KWD", "LYD", "OMR", "TND"];
const UNKNOWN = [
  "compactDisplay", "maximumSignificantDigits", "minimumSignificantDigits", "roundingIncrement", "unit", "unitDisplay",
];

function digits(options, name, least, most, otherwise) {
  const value = options[name];
  if (value === undefined) {
    return otherwise;
  }
  if (!(Number(value) >= least && Number(value) <= most)) {
    throw new RangeError(`${name} value is out of range.`);
  }
  return Math.floor(Number(value));
}

export class NumberFormat {
  #options;
  #bound;

  constructor(locales, options = {}) {
    const locale = localeOf(locales);
    refuse("Intl.NumberFormat", options, UNKNOWN);
    oneOf(options, "notation", ["standard"]);
    oneOf(options, "signDisplay", ["auto"]);
    oneOf(options, "currencySign", ["standard"]);
    oneOf(options, "numberingSystem", ["latn"]);
    oneOf(options, "roundingMode", ["halfExpand"]);
    oneOf(options, "roundingPriority", ["auto"]);
    oneOf(options, "trailingZeroDisplay", ["auto"]);
    const style = oneOf(options, "style", ["decimal", "percent", "currency"]) ?? "decimal";
    const money = style === "currency" ? moneyOf(options) : {};
    const usual = style === "currency" ? [money.cents, money.cents] : [0, style === "percent" ? 0 : 3];
    const [least, most] = [digits(options, "minimumFractionDigits", 0, 100), digits(options, "maximumFractionDigits", 0, 100)];
    if (least !== undefined && most !== undefined && least > most) {
      throw new RangeError("maximumFractionDigits value is out of range.");
    }
    const minimumFractionDigits = least ?? Math.min(usual[0], most ?? usual[0]);
    const maximumFractionDigits = most ?? Math.max(usual[1], minimumFractionDigits);
    const useGrouping = oneOf(options, "useGrouping", [true, false, "auto", "always"]) ?? "auto";
    const { cents, ...shown } = money;
    this.#options = {
      locale,
      numberingSystem: "latn",
      style,
      ...shown,
      minimumIntegerDigits: digits(options, "minimumIntegerDigits", 1, 21, 1),
      minimumFractionDigits,
      maximumFractionDigits,
      useGrouping: useGrouping === true ? "always" : useGrouping,
      notation: "standard",
      signDisplay: "auto",
      roundingIncrement: 1,
      roundingMode: "halfExpand",
      roundingPriority: "auto",
      trailingZeroDisplay: "auto",
    };
  }

  static supportedLocalesOf(locales) {
    return supported(locales);
  }

  get format() {
    this.#bound ??= (value) => this.formatToParts(value).map(({ value: piece }) => piece).join("");
    return this.#bound;
  }

  formatToParts(value) {
    const { style, currency, currencyDisplay } = this.#options;
    const amount = typeof value === "bigint" ? value : Number(value);
    const parts = magnitude(amount, this.#options);
    if (style === "percent") {
      parts.push({ type: "percentSign", value: "%" });
    }
    if (style === "currency") {
      const sign = currencyDisplay === "code" ? currency : (SYMBOLS[currency] ?? currency);
      const space = /[A-Z]$/.test(sign) ? [{ type: "literal", value: "\u00a0" }] : [];
      parts.unshift({ type: "currency", value: sign }, ...space);
    }
    return amount < 0 || Object.is(amount, -0) ? [{ type: "minusSign", value: "-" }, ...parts] : parts;
  }

  resolvedOptions() {
    return { ...this.#options };
  }

  get [Symbol.toStringTag]() {
    return "Intl.NumberFormat";
  }
}

function moneyOf(options) {
  const currency = String(options.currency ?? "").toUpperCase();
  if (!/^[A-Z]{3}$/.test(currency)) {
    throw new TypeError("Currency code is required with currency style.");
  }
  if (REFUSED.includes(currency)) {
    throw new RangeError(`Intl.NumberFormat of the sandbox does not know the sign of ${currency}`);
  }
  const currencyDisplay = oneOf(options, "currencyDisplay", ["symbol", "code"]) ?? "symbol";
  const cents = WITHOUT_CENTS.includes(currency) ? 0 : WITH_MILLS.includes(currency) ? 3 : 2;
  return { currency, currencyDisplay, currencySign: "standard", cents };
}

/** What is written of a number without its sign. */
function magnitude(amount, { style, minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, useGrouping }) {
  if (Number.isNaN(amount)) {
    return [{ type: "nan", value: "NaN" }];
  }
  if (amount === Infinity || amount === -Infinity) {
    return [{ type: "infinity", value: "∞" }];
  }
  const [whole, fraction] = rounded(decimal(amount, style === "percent" ? 2 : 0), maximumFractionDigits);
  const digitsOf = whole.padStart(minimumIntegerDigits, "0");
  const groups = useGrouping === false ? [digitsOf] : digitsOf.replace(/\B(?=(\d{3})+$)/g, ",").split(",");
  const parts = groups.flatMap((value, at) => (at > 0 ? [{ type: "group", value: "," }] : []).concat({ type: "integer", value }));
  const shown = fraction.replace(/0+$/, "").padEnd(minimumFractionDigits, "0");
  return shown ? [...parts, { type: "decimal", value: "." }, { type: "fraction", value: shown }] : parts;
}

/** The digits before and after the point, as the shortest way to write the number has them, moved by some places. */
function decimal(amount, places) {
  const [digitsOf, exponent = "0"] = String(amount).replace(/^-/, "").split("e");
  const [whole, fraction = ""] = digitsOf.split(".");
  const at = whole.length + Number(exponent) + places;
  const all = whole + fraction;
  return at <= 0 ? ["0", "0".repeat(-at) + all] : [all.slice(0, at).padEnd(at, "0"), all.slice(at)];
}

/** Half is rounded away from zero. */
function rounded([whole, fraction], most) {
  const kept = whole + fraction.slice(0, most).padEnd(most, "0");
  const up = Number(fraction[most] ?? 0) >= 5 ? 1n : 0n;
  const all = String(BigInt(kept) + up).padStart(most + 1, "0");
  return [all.slice(0, all.length - most), all.slice(all.length - most)];
}

export class PluralRules {
  #locale;
  #type;

  constructor(locales, options = {}) {
    refuse("Intl.PluralRules", options, [...UNKNOWN, "maximumFractionDigits", "minimumFractionDigits", "minimumIntegerDigits"]);
    this.#locale = localeOf(locales);
    this.#type = oneOf(options, "type", ["cardinal", "ordinal"]) ?? "cardinal";
  }

  static supportedLocalesOf(locales) {
    return supported(locales);
  }

  select(value) {
    // As it is written: with three digits after the point.
    const amount = Math.abs(Number(Number(value).toFixed(3)));
    if (this.#type === "cardinal") {
      return amount === 1 ? "one" : "other";
    }
    const isTeen = [11, 12, 13].includes(amount % 100);
    return (!isTeen && { 1: "one", 2: "two", 3: "few" }[amount % 10]) || "other";
  }

  resolvedOptions() {
    const pluralCategories = this.#type === "cardinal" ? ["one", "other"] : ["few", "one", "two", "other"];
    return { locale: this.#locale, type: this.#type, pluralCategories };
  }

  get [Symbol.toStringTag]() {
    return "Intl.PluralRules";
  }
}
