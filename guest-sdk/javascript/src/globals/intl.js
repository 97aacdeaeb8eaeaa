// Intl, and the methods of dates, numbers and strings that depend on a locale. The engine's own write dates of every locale as those of
// the United States.

import { Collator } from "../intl/collator.js";
import { DateTimeFormat } from "../intl/date-time.js";
import { LOCALE } from "../intl/locale.js";
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

const plain = new Collator();
define(
  {
    localeCompare(other, locales, options) {
      const collator = locales === undefined && options === undefined ? plain : new Collator(locales, options);
      return collator.compare(this, other);
    },
  },
  String.prototype,
);
