// Intl.DateTimeFormat for en-US and UTC, the time zone of the sandbox. What it does not know it refuses.

import { localeOf, oneOf, refuse, supported } from "./locale.js";

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const ERAS = { long: ["Before Christ", "Anno Domini"], short: ["BC", "AD"], narrow: ["B", "A"] };
const ZONES = ["utc", "etc/utc", "gmt", "etc/gmt"];

const NUMBER = ["numeric", "2-digit"];
const TEXT = ["long", "short", "narrow"];
const DATE = { weekday: TEXT, era: TEXT, year: NUMBER, month: [...NUMBER, ...TEXT], day: NUMBER };
const TIME = { hour: NUMBER, minute: NUMBER, second: NUMBER, fractionalSecondDigits: [1, 2, 3] };
const STYLES = ["full", "long", "medium", "short"];
const DATE_STYLES = {
  full: { weekday: "long", month: "long", day: "numeric", year: "numeric" },
  long: { month: "long", day: "numeric", year: "numeric" },
  medium: { month: "short", day: "numeric", year: "numeric" },
  short: { month: "numeric", day: "numeric", year: "2-digit" },
};
const TIME_STYLES = {
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
  long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
  short: { hour: "numeric", minute: "2-digit" },
};

// Which fields have a format together, in which order they are written, and what is between them.
const DATES = ["month", "day", "year", "month day", "month year", "month day year", "weekday", "weekday month day", "weekday month day year"];
const TIMES = ["hour", "minute", "second", "hour minute", "minute second", "hour minute second"];

const text = (value, width) => (width === "long" ? value : width === "short" ? value.slice(0, 3) : value[0]);
const two = (value) => String(value).padStart(2, "0");
const number = (value, width) => (width === "2-digit" ? two(value % 100) : String(value));
const literal = (value) => ({ type: "literal", value });

/** `needed` and `filled` are what is there if no field is asked for. */
function fieldsOf(options, needed, filled) {
  const [dateStyle, timeStyle] = [oneOf(options, "dateStyle", STYLES), oneOf(options, "timeStyle", STYLES)];
  const fields = {};
  for (const [name, values] of Object.entries({ ...DATE, ...TIME, timeZoneName: ["long", "short"] })) {
    fields[name] = oneOf(options, name, values);
  }
  const has = (names) => Object.keys(names).some((name) => fields[name] !== undefined);
  if (dateStyle || timeStyle) {
    if (has(fields)) {
      throw new TypeError("dateStyle and timeStyle stand for all fields, and none may be beside them");
    }
    if ((dateStyle && needed === "time") || (timeStyle && needed === "date")) {
      throw new TypeError(dateStyle ? "a time has no dateStyle" : "a date has no timeStyle");
    }
    return { dateStyle, timeStyle, ...DATE_STYLES[dateStyle], ...TIME_STYLES[timeStyle] };
  }
  const { era, ...dates } = DATE;
  if ((needed === "time" || !has(dates)) && (needed === "date" || !has(TIME))) {
    const numeric = (names) => names.forEach((name) => (fields[name] = "numeric"));
    if (filled !== "time") {
      numeric(["year", "month", "day"]);
    }
    if (filled !== "date") {
      numeric(["hour", "minute", "second"]);
    }
  }
  return fields;
}

export class DateTimeFormat {
  #fields;
  #resolved;
  #bound;

  constructor(locales, options = {}, needed = "any", filled = "date") {
    const locale = localeOf(locales);
    refuse("Intl.DateTimeFormat", options, ["dayPeriod"]);
    oneOf(options, "calendar", ["gregory"]);
    oneOf(options, "numberingSystem", ["latn"]);
    zone(options.timeZone);
    const fields = fieldsOf(options, needed, filled);
    const cycle = oneOf(options, "hourCycle", ["h11", "h12", "h23", "h24"]) ?? "h12";
    const hourCycle = options.hour12 === undefined ? cycle : options.hour12 ? "h12" : "h23";
    this.#fields = { ...fields, hourCycle };
    const isKnown = known(fields, DATE, ["era"], DATES) && known(fields, TIME, ["fractionalSecondDigits"], TIMES);
    if (!isKnown || isOdd(fields, hourCycle)) {
      const wanted = Object.keys(fields).filter((name) => fields[name] !== undefined);
      throw new RangeError(`Intl.DateTimeFormat of the sandbox has no format of only ${wanted.join(", ")}; format them one by one`);
    }
    const shown = fields.dateStyle || fields.timeStyle ? { dateStyle: fields.dateStyle, timeStyle: fields.timeStyle } : fields;
    const hours = fields.hour === undefined ? {} : { hourCycle, hour12: ["h11", "h12"].includes(hourCycle) };
    const given = Object.entries(shown).filter(([, value]) => value !== undefined);
    this.#resolved = { locale, calendar: "gregory", numberingSystem: "latn", timeZone: "UTC", ...hours, ...Object.fromEntries(given) };
  }

  static supportedLocalesOf(locales) {
    return supported(locales);
  }

  /** Bound, so that it can be passed on. */
  get format() {
    this.#bound ??= (date) => this.formatToParts(date).map(({ value }) => value).join("");
    return this.#bound;
  }

  formatToParts(date) {
    const at = new Date(date === undefined ? Date.now() : date);
    if (Number.isNaN(at.getTime())) {
      throw new RangeError("Invalid time value");
    }
    const fields = this.#fields;
    const [days, times] = [dateParts(at, fields), timeParts(at, fields)];
    const name = fields.timeZoneName && { long: "Coordinated Universal Time", short: "UTC" }[fields.timeZoneName];
    const zoned = name ? [{ type: "timeZoneName", value: name }] : [];
    if (times.length === 0) {
      return zoned.length > 0 && days.length > 0 ? [...days, literal(between(fields)), ...zoned] : [...days, ...zoned];
    }
    const whole = zoned.length > 0 ? [...times, literal(" "), ...zoned] : times;
    return days.length > 0 ? [...days, literal(between(fields)), ...whole] : whole;
  }

  resolvedOptions() {
    return { ...this.#resolved };
  }

  formatRange() {
    throw new RangeError("Intl.DateTimeFormat of the sandbox formats no ranges; format both ends");
  }

  formatRangeToParts() {
    return this.formatRange();
  }

  get [Symbol.toStringTag]() {
    return "Intl.DateTimeFormat";
  }
}

function zone(wanted) {
  if (wanted !== undefined && !ZONES.includes(String(wanted).toLowerCase())) {
    throw new RangeError(`the sandbox knows the time zone UTC only, not ${wanted}; calculate with an offset, or use a package with zones of its own, such as moment-timezone/builds/moment-timezone-with-data-1970-2030`);
  }
}

/** Whether there is a format of these fields. */
function known(fields, names, besides, formats) {
  const there = Object.keys(names).filter((name) => fields[name] !== undefined && !besides.includes(name));
  return there.length === 0 || formats.some((format) => format.split(" ").sort().join() === there.sort().join());
}

/** What a format of other fields does not show in the same way: fractions are of seconds, eras of years. */
const isOdd = ({ hour, minute, second, fractionalSecondDigits, era, year, timeZoneName }, hourCycle) =>
  (fractionalSecondDigits && !(second === "numeric" || (second && minute))) ||
  (era && !year) ||
  (timeZoneName && hour && !minute && ["h23", "h24"].includes(hourCycle));

const between = ({ month, weekday, day, year, hour, timeZoneName }) => {
  if (weekday && !day && !year && !month) {
    return hour && !timeZoneName ? " " : ", ";
  }
  return month === "long" ? " at " : ", ";
};

function dateParts(at, fields) {
  const { weekday, era, year, month, day } = fields;
  const full = at.getUTCFullYear();
  const parts = [];
  const add = (type, value, before) => parts.push(...(parts.length > 0 ? [literal(before)] : []), { type, value });
  const isText = TEXT.includes(month);
  if (weekday) {
    add("weekday", text(DAYS[at.getUTCDay()], weekday));
  }
  if (month) {
    add("month", isText ? text(MONTHS[at.getUTCMonth()], month) : number(at.getUTCMonth() + 1, month), ", ");
  }
  if (day) {
    add("day", number(at.getUTCDate(), day), isText ? " " : "/");
  }
  if (year) {
    add("year", number(full > 0 ? full : 1 - full, year), isText ? (day ? ", " : " ") : "/");
  }
  if (era) {
    add("era", ERAS[era][full > 0 ? 1 : 0], " ");
  }
  return parts;
}

function timeParts(at, { hour, minute, second, fractionalSecondDigits, hourCycle }) {
  const parts = [];
  const add = (type, value, before) => parts.push(...(parts.length > 0 ? [literal(before)] : []), { type, value });
  const isHalf = ["h11", "h12"].includes(hourCycle);
  const hours = at.getUTCHours();
  if (hour) {
    const shown = { h11: hours % 12, h12: hours % 12 || 12, h23: hours, h24: hours || 24 }[hourCycle];
    add("hour", isHalf ? number(shown, hour) : two(shown));
  }
  if (minute) {
    // Alone, it has as many digits as it needs.
    add("minute", hour || second ? two(at.getUTCMinutes()) : String(at.getUTCMinutes()), ":");
  }
  if (second) {
    add("second", minute ? two(at.getUTCSeconds()) : String(at.getUTCSeconds()), ":");
  }
  if (fractionalSecondDigits) {
    add("fractionalSecond", String(at.getUTCMilliseconds()).padStart(3, "0").slice(0, fractionalSecondDigits), ".");
  }
  if (hour && isHalf) {
    add("dayPeriod", hours < 12 ? "AM" : "PM", " ");
  }
  return parts;
}
