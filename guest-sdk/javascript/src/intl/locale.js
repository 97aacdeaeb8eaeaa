// The one locale that there is: English of the United States. Whoever asks for another is told so: a date in the wrong order is worse.

export const LOCALE = "en-US";

const isOurs = (tag) => ["en", "en-us"].includes(tag.toLowerCase());

function listOf(locales) {
  const list = locales === undefined ? [] : typeof locales === "object" && locales !== null ? [...locales] : [locales];
  return list.map((tag) => {
    const name = String(tag);
    if (!/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(name)) {
      throw new RangeError(`Incorrect locale information provided: ${name}`);
    }
    return name;
  });
}

/** The locale, if it is wanted before others. */
export function localeOf(locales) {
  const [first = LOCALE] = listOf(locales);
  if (!isOurs(first)) {
    throw new RangeError(
      `the sandbox formats for the locale en-US only, not ${first}. Write the format out, or use a package with locales of its own, such as date-fns`,
    );
  }
  return first.length === 2 ? "en" : LOCALE;
}

export const supported = (locales) => listOf(locales).filter(isOurs);

/** An option that may be one of these values; undefined if it is not given. */
export function oneOf(options, name, values) {
  const value = options[name];
  if (value === undefined) {
    return undefined;
  }
  if (!values.includes(value)) {
    throw new RangeError(`Intl of the sandbox knows ${name}: ${values.map((one) => JSON.stringify(one)).join(", ")}, not ${JSON.stringify(value)}`);
  }
  return value;
}

/** Refuses options that would change what is written. */
export function refuse(what, options, names) {
  const found = names.find((name) => options[name] !== undefined);
  if (found !== undefined) {
    throw new RangeError(`${what} of the sandbox does not know the option ${found}`);
  }
}
