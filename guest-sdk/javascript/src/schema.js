// Types of arguments, results and forms: each has a JSON Schema, and reads a value. In TypeScript, it has the type of the value.

import { InvalidArguments } from "./errors.js";

const misfit = (where, value) => {
  throw new InvalidArguments(`${where} is ${JSON.stringify(value)}, which does not fit`);
};

class Type {
  constructor(schema, read, about = {}) {
    this.schema = schema;
    this.reading = read;
    // What the schema itself does not say: whether it may be left out, and its default.
    this.about = about;
  }

  with(schema, about = {}) {
    return new this.constructor({ ...this.schema, ...schema }, this.reading, { ...this.about, ...about });
  }

  describe(description) {
    return this.with({ description });
  }

  /** What people see in place of a field's name. */
  title(title) {
    return this.with({ title });
  }

  /** It may be left out, or null: then it is undefined. */
  optional() {
    return this.with({}, { optional: true });
  }

  /** It may be left out: then it is this value. */
  default(value) {
    return this.with({ default: value }, { byDefault: value, hasDefault: true });
  }

  get isRequired() {
    return !this.about.optional && !this.about.hasDefault;
  }

  /** The schema, in which null stands for a missing value. */
  get nullable() {
    const { enum: words, type } = this.schema;
    return {
      ...this.schema,
      ...(type && { type: [type, "null"] }),
      ...(words && { enum: [...words, null] }),
    };
  }

  read(value, where = "it") {
    if (value === undefined || value === null) {
      return this.isRequired ? misfit(where, value ?? null) : this.about.byDefault;
    }
    return this.reading(value, where);
  }
}

class Sized extends Type {
  length(min, max) {
    const [least, most] = this.schema.type === "array" ? ["minItems", "maxItems"] : ["minLength", "maxLength"];
    return this.with({ ...(min !== undefined && { [least]: min }), ...(max !== undefined && { [most]: max }) });
  }

  /** Of texts: `email`, `uri`, `date` or `date-time`. */
  format(format) {
    return this.with({ format });
  }
}

class Numeric extends Type {
  range(min, max) {
    return this.with({ ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) });
  }
}

const string = (value, where) => (typeof value === "string" ? value : misfit(where, value));
const integer = (value, where) => (Number.isInteger(value) ? value : misfit(where, value));
const number = (value, where) => (typeof value === "number" ? value : misfit(where, value));
const boolean = (value, where) => (typeof value === "boolean" ? value : misfit(where, value));

const schemaOf = (type, output) => (output ? outputOf(type) : inputOf(type));

function inputOf(type) {
  return nested(type.about.optional ? type.nullable : type.schema, type, false);
}

function outputOf(type) {
  const { default: _, ...schema } = type.about.optional ? type.nullable : type.schema;
  return nested(schema, type, true);
}

function nested(schema, type, output) {
  const { items, values, fields } = type.about;
  return {
    ...schema,
    ...(items && { items: schemaOf(items, output) }),
    ...(values && { additionalProperties: schemaOf(values, output) }),
    ...(fields && properties(fields, output)),
  };
}

function properties(fields, output) {
  const entries = Object.entries(fields);
  const required = entries.filter(([, type]) => output || type.isRequired).map(([name]) => name);
  return {
    properties: Object.fromEntries(entries.map(([name, type]) => [name, schemaOf(type, output)])),
    ...(required.length > 0 && { required }),
  };
}

/** Reads an object with these fields. */
export function fieldsReader(fields) {
  const names = Object.keys(fields);
  const top = names.map((name) => `\`${name}\``);
  return (given, where) => {
    const found = {};
    // By index: to iterate takes the engine several times as long.
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at];
      found[name] = fields[name].read(given[name], where ? `${where}.${name}` : top[at]);
    }
    return found;
  };
}

export const readFields = (fields, given, where) => fieldsReader(fields)(given, where);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const described = (description) => (description === undefined ? {} : { description });

export const t = {
  string: (description) => new Sized({ type: "string", ...described(description) }, string),
  integer: (description) => new Numeric({ type: "integer", ...described(description) }, integer),
  number: (description) => new Numeric({ type: "number", ...described(description) }, number),
  boolean: (description) => new Type({ type: "boolean", ...described(description) }, boolean),
  /** One of these words. */
  enum: (words, description) =>
    new Type({ type: "string", enum: words, ...described(description) }, (value, where) =>
      words.includes(value) ? value : misfit(where, value),
    ),
  array: (items, description) =>
    new Sized(
      { type: "array", ...described(description) },
      (value, where) =>
        Array.isArray(value) ? value.map((one, at) => items.read(one, `${where}[${at}]`)) : misfit(where, value),
      { items },
    ),
  /** An object with any keys. */
  record: (values, description) =>
    new Type(
      { type: "object", ...described(description) },
      (value, where) =>
        isObject(value)
          ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, values.read(one, `${where}.${key}`)]))
          : misfit(where, value),
      { values },
    ),
  object: (fields, description) =>
    new Type(
      { type: "object", ...described(description) },
      (value, where) => (isObject(value) ? readFields(fields, value, where) : misfit(where, value)),
      { fields },
    ),
  /** Anything that is JSON. */
  any: (description) => new Type({ ...described(description) }, (value) => value),
};

/** The schema of arguments. */
export const inputSchema = (fields) => ({ type: "object", ...properties(fields, false), additionalProperties: false });

/** The schema of arguments that a model chooses. */
export const plainSchema = (fields) => ({ type: "object", ...properties(fields, false) });

/** The schema of a result. */
export const outputSchema = (type) => outputOf(type);

/** The schema of a form: flat, and a field that may be left empty has its plain type. */
export function formSchema(fields) {
  const entries = Object.entries(fields);
  const flat = ([name, type]) => {
    if (type.about.fields || type.about.values || !type.schema.type) {
      throw new TypeError(`the field \`${name}\`: forms are flat; ask for nested things in a form of their own`);
    }
    return [name, nested(type.schema, type, false)];
  };
  const required = entries.filter(([, type]) => type.isRequired).map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(entries.map(flat)), ...(required.length > 0 && { required }) };
}
