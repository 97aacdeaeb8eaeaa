// Suggestions while a user fills in an argument of a prompt, or a variable of a resource template.

// The most values that a client gets.
const MOST = 100;

/** What was typed so far, and the other arguments that are filled in. */
export class Typed {
  constructor(value, others, context) {
    Object.assign(this, { value, others, context });
  }

  /** Those that begin as what was typed, whatever the case. */
  matching(candidates) {
    const start = this.value.toLowerCase();
    return candidates.filter((one) => one.toLowerCase().startsWith(start));
  }
}

/** The suggestions of a list, or of a function of what was typed. */
export async function suggest(source, typed) {
  const found = Array.isArray(source) ? typed.matching(source) : source ? await source(typed) : [];
  if (!Array.isArray(found)) {
    return { total: undefined, hasMore: false, ...found };
  }
  return { values: found.slice(0, MOST), total: found.length, hasMore: found.length > MOST };
}
