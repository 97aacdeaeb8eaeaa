// Types whose values JSON does not have, and what to write in their place.

const OF_LIBRARY = {
  Date: "string, with @format date-time in its comment",
  Map: "Record<string, ...>",
  ReadonlyMap: "Record<string, ...>",
  Set: "an array",
  ReadonlySet: "an array",
  URL: "string, with @format uri in its comment",
  Uint8Array: "string, and encode the bytes",
  RegExp: "string",
  Promise: "the type of what it waits for",
  String: "string",
  Number: "number",
  Boolean: "boolean",
  Object: "Record<string, unknown>",
};

/** What to write in place of a type; undefined if the type is well. */
export function insteadOf(program, type) {
  const { ts, checker } = program;
  const { TypeFlags: is, SymbolFlags } = ts;
  const { flags, symbol } = type;
  if (flags & is.Any) return "the type, or unknown for any JSON value";
  if (flags & is.ESSymbolLike) return "string";
  if (flags & is.BigIntLike) return "integer, or string for what is beyond 2^53";
  if (flags & (is.TemplateLiteral | is.StringMapping)) return "string, with @pattern in its comment";
  if (flags & is.NonPrimitive) return "Record<string, unknown>, or an interface";
  if (flags & (is.Undefined | is.Void)) return "null, or `?` behind a member's name";
  if (flags & is.Never) return "another type: it has no value";
  if (flags & is.Instantiable) return "a type that is known here, without type parameters";
  if (type.isIntersection()) {
    const primitives = is.StringLike | is.NumberLike | is.BooleanLike | is.BigIntLike;
    return type.types.some((one) => one.flags & primitives) ? "the plain type" : undefined;
  }
  if (checker.isTupleType(type)) return "an array, or an object with names";
  if (checker.isArrayType(type)) return undefined;
  if (type.getCallSignatures().length + type.getConstructSignatures().length > 0) return "data: a function cannot be sent";
  if (symbol?.flags & SymbolFlags.Class && !(symbol.flags & SymbolFlags.Interface)) return "an interface with its data: an instance of a class cannot be sent";
  if (symbol?.flags & (SymbolFlags.Interface | SymbolFlags.Class) && program.isOfLibrary(symbol)) {
    return OF_LIBRARY[symbol.name] ?? "an interface with its data";
  }
  if (program.isOfSdk(symbol)) return "an interface of your own";
  if (checker.getPropertiesOfType(type).some(({ escapedName }) => escapedName.startsWith("__@"))) {
    return "names of members that are strings";
  }
  return checker.getIndexInfosOfType(type).some(({ keyType }) => !(keyType.flags & is.String)) ? "string as the type of its keys" : undefined;
}
