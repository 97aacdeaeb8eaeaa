// What a comment says of a member: its description, and tags such as `@minimum 1`.

const number = (text) => (text.trim() === "" || !Number.isFinite(Number(text)) ? undefined : Number(text));
const count = (text) => (/^\d+$/.test(text) ? Number(text) : undefined);
const word = (text) => text || undefined;
const flag = (text) => (text === "" ? true : undefined);

const NUMBERS = ["number", "integer"];
/** Keywords of JSON Schema: the types that they are for, what is read, and what that is called. */
const KEYWORDS = {
  minimum: [NUMBERS, number, "a number"],
  maximum: [NUMBERS, number, "a number"],
  exclusiveMinimum: [NUMBERS, number, "a number"],
  exclusiveMaximum: [NUMBERS, number, "a number"],
  multipleOf: [NUMBERS, (text) => (number(text) > 0 ? number(text) : undefined), "a number above 0"],
  minLength: [["string"], count, "a whole number"],
  maxLength: [["string"], count, "a whole number"],
  pattern: [["string"], pattern, "a regular expression"],
  format: [["string"], word, "a format, such as date"],
  minItems: [["array"], count, "a whole number"],
  maxItems: [["array"], count, "a whole number"],
  uniqueItems: [["array"], flag, "nothing"],
};
/** Tags of JSDoc and TSDoc that are for people. */
const FOR_PEOPLE = [
  "alpha", "author", "beta", "category", "deprecated", "example", "experimental", "internal", "link", "packageDocumentation",
  "private", "protected", "public", "readonly", "remarks", "see", "since", "todo", "type", "typedef", "version",
];

function pattern(text) {
  try {
    return new RegExp(text, "u") && (text || undefined);
  } catch {
    return undefined;
  }
}

/** The description of a symbol; undefined if it has none. */
export function descriptionOf({ ts, checker }, symbol) {
  return ts.displayPartsToString(symbol?.getDocumentationComment(checker)).trim() || undefined;
}

/** Whether a comment in front of a declaration is lost: TypeScript takes what follows something on its line for that thing's. */
export function hasLostComment({ ts }, declaration) {
  const { text } = declaration.getSourceFile();
  return (ts.getTrailingCommentRanges(text, declaration.pos) ?? []).some(({ pos }) => text.startsWith("/**", pos));
}

/** Adds what the tags of a symbol say to its schema. `refuse` gets a text for each that makes no sense. */
export function annotate(program, symbol, schema, refuse) {
  const { ts, checker } = program;
  const annotated = { ...schema };
  const tags = symbol.getJsDocTags(checker).map(({ name, text }) => [name, ts.displayPartsToString(text).trim()]);
  // What kind of number it is decides what else may be said of it.
  for (const [name] of tags.filter(([name]) => name === "integer")) {
    apply(name, typeOf(schema) === "number", "number", () => (annotated.type = replaced(schema.type)));
  }
  for (const [name, text] of tags) {
    if (name === "title") {
      annotated.title = text;
    } else if (name === "default") {
      const value = defaultOf(annotated, text);
      if (value === undefined) {
        refuse(`@default ${text} is not a value of this type; write it as JSON`);
      } else {
        annotated.default = value;
      }
    } else if (Object.hasOwn(KEYWORDS, name)) {
      const [types, read, expected] = KEYWORDS[name];
      apply(name, types.includes(typeOf(annotated)), types[0], () => {
        const value = read(text);
        if (value === undefined) {
          refuse(`@${name} ${text} is not understood; write ${expected}`);
        } else {
          annotated[name] = value;
        }
      });
    } else if (name !== "integer" && !FOR_PEOPLE.includes(name) && program.isOwn(symbol)) {
      refuse(`@${name} is not known; known are ${[...Object.keys(KEYWORDS), "default", "integer", "title"].join(", ")}`);
    }
  }
  return annotated;

  function apply(name, fits, type, work) {
    if (fits) {
      work();
    } else {
      refuse(`@${name} is for a ${type}, and this is none`);
    }
  }
}

const replaced = (type) => (Array.isArray(type) ? type.map((one) => (one === "number" ? "integer" : one)) : "integer");

/** The type of a schema, null aside; undefined for several. */
export function typeOf({ type }) {
  return Array.isArray(type) ? type.find((one) => one !== "null") : type;
}

/** JSON, or the bare words of a string. */
function defaultOf(schema, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = text;
  }
  // A bare word may look like something else: the digits of a string.
  if (typeOf(schema) === "string" && typeof value !== "string" && !(value === null && accepts(schema, null))) {
    value = text;
  }
  return text !== "" && accepts(schema, value) ? value : undefined;
}

/** Whether a value has the type that a schema names at its root. */
export function accepts({ type, enum: values, minimum = -Infinity, maximum = Infinity }, value) {
  const isOf = {
    null: value === null,
    string: typeof value === "string",
    boolean: typeof value === "boolean",
    number: typeof value === "number" && value >= minimum && value <= maximum,
    integer: Number.isInteger(value) && value >= minimum && value <= maximum,
    array: Array.isArray(value),
    object: typeof value === "object" && value !== null && !Array.isArray(value),
  };
  return (type === undefined || [type].flat().some((one) => isOf[one])) && (values?.includes(value) ?? true);
}
