// Intl, and the methods of dates, numbers and strings that depend on a locale. The engine's own write dates of every locale as those of
// the United States.

import { Collator } from "../intl/collator.js";
import { DateTimeFormat } from "../intl/date-time.js";
import { LOCALE, localeOf } from "../intl/locale.js";
import { NumberFormat, PluralRules } from "../intl/number.js";
import { define } from "./define.js";

// Also without `new`, as everywhere.
const callable = (Format) => new Proxy(Format, { apply: (_, __, [locales, options]) => new Format(locales, options) });

// Others are not there: packages look whether they are.
const Intl = { Collator: callable(Collator), DateTimeFormat: callable(DateTimeFormat), NumberFormat: callable(NumberFormat), PluralRules };
define({ getCanonicalLocales: (locales) => [locales ?? LOCALE].flat().map(String) }, Intl);
define({ Intl });

const dates = (needed, filled) =>
  function (locales, options) {
    return Number.isNaN(this.getTime()) ? "Invalid Date" : new DateTimeFormat(locales, options, needed, filled).format(this);
  };

define({ toLocaleString: dates("any", "all"), toLocaleDateString: dates("date", "date"), toLocaleTimeString: dates("time", "time") }, Date.prototype);

const numbers = {
  toLocaleString(locales, options) {
    return new NumberFormat(locales, options).format(this.valueOf());
  },
};
define(numbers, Number.prototype);
define(numbers, BigInt.prototype);

const lists = {
  toLocaleString(...how) {
    return Array.from(this, (one) => one?.toLocaleString(...how) ?? "").join(",");
  },
};
define(lists, Array.prototype);
define(lists, Object.getPrototypeOf(Uint8Array.prototype));

/** Everywhere else letters are the same in capitals and small as without a locale. */
const cased = (work) =>
  function (locales) {
    const [first = LOCALE] = [locales ?? LOCALE].flat();
    if (/^(az|el|lt|tr)\b/i.test(first)) {
      localeOf(first);
    }
    return work.call(this);
  };

const plain = new Collator();
define(
  {
    localeCompare(other, locales, options) {
      const collator = locales === undefined && options === undefined ? plain : new Collator(locales, options);
      return collator.compare(this, other);
    },
    toLocaleLowerCase: cased(String.prototype.toLowerCase),
    toLocaleUpperCase: cased(String.prototype.toUpperCase),
  },
  String.prototype,
);
