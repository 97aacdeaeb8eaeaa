// Types of values, each with its JSON Schema.

import type { kind } from "./content.js";

/** The type of a value, with its JSON Schema. */
export interface Type<Value, Plain = Value> {
  readonly [kind]?: [Value, Plain];
  describe(description: string): this;
  /** What people see in place of a field's name. */
  title(title: string): this;
  /** It may be left out, or null: then it is undefined. */
  optional(): Type<Plain | undefined, Plain>;
  /** It may be left out: then it is this value. */
  default(value: Plain): Type<Plain, Plain>;
}
export interface Sized<Value> extends Type<Value> {
  /** The length of a text, or the number of items in a list. */
  length(min?: number, max?: number): this;
  format(name: "email" | "uri" | "date" | "date-time"): this;
}
export interface Numeric extends Type<number> {
  /** Bounds, both included. */
  range(min?: number, max?: number): this;
}
export type Fields = Record<string, Type<any, any>>;
/** The value that a type describes. */
export type Value<T> = T extends Type<infer V, any> ? V : never;
/** The values that fields describe. */
export type Values<F extends Fields> = { [Name in keyof F]: Value<F[Name]> };

export const t: {
  string(description?: string): Sized<string>;
  integer(description?: string): Numeric;
  number(description?: string): Numeric;
  boolean(description?: string): Type<boolean>;
  enum<const Words extends readonly string[]>(words: Words, description?: string): Type<Words[number]>;
  array<V>(items: Type<V, any>, description?: string): Sized<V[]>;
  record<V>(values: Type<V, any>, description?: string): Type<Record<string, V>>;
  object<F extends Fields>(fields: F, description?: string): Type<Values<F>>;
  any(description?: string): Type<any>;
};
