// From a type of TypeScript, resolved by its own checker, to a JSON Schema.

import { accepts, annotate, descriptionOf, hasLostComment } from "./comments.js";
import { insteadOf } from "./refused.js";
import { aliasOf, contentNode, isLiteral, ofLiterals, partsOf } from "./written.js";

/** Nesting of types, as deep as a schema may be. Bounds generic types that grow without end. */
const MAX_DEPTH = 32;
/** Parts of one schema, as many as a host takes. Bounds types that use each other many times over. */
const MAX_PARTS = 4_096;

/** Makes one schema. A type is written where it is used; one that leads back to itself is in `$defs`. */
export class Schemas {
  #open = new Set(); // types that are being written
  #names = new Map(); // of those that have led back to themselves
  #defs = {};
  #parts = 0;
  #unions = 0;

  constructor(program, { isResult = false, defaults = new Map() }) {
    Object.assign(this, { program, isResult, defaults });
  }

  /** The schema of a tool's arguments. */
  ofArguments(type, node) {
    const schema = this.#root(type, node, "the arguments");
    return { ...schema, additionalProperties: schema?.additionalProperties ?? false, ...this.#definitions() };
  }

  /** The schema of a result; undefined for what has none: text, content of the SDK. */
  ofResult(type, node) {
    const { ts } = this.program;
    const isObject = type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection) && !this.program.checker.isArrayLikeType(type);
    return isObject && !this.program.isOfSdk(type.symbol) ? { ...this.#root(type, node, "the result"), ...this.#definitions() } : undefined;
  }

  #root(type, node, what) {
    const place = { node, what: this.#nameOf(type) ?? what };
    if (type.isUnion()) {
      this.#refuse(type, place, "one object type: a union cannot be the root of a tool's schema");
      return undefined;
    }
    const schema = this.#single(type, place, this.defaults);
    if (schema && schema.type !== "object" && !schema.$ref) {
      this.#refuse(type, place, "an interface");
    }
    // Its own description says no more than that of the tool.
    const { description: _, ...rest } = schema?.$ref ? this.#defs[refName(schema)] : (schema ?? {});
    return rest;
  }

  #definitions() {
    return Object.keys(this.#defs).length > 0 ? { $defs: this.#defs } : {};
  }

  #refuse(type, { node, what }, instead) {
    const text = this.program.checker.typeToString(type);
    this.program.problem(node, `${what} has the type \`${text}\`, which has no JSON Schema; write ${instead}`);
  }

  /** Any type. `written` is the node that has it, if there is one. */
  #value(type, place, written) {
    return this.#oneOf(partsOf(this.program, type, written), place, written);
  }

  #oneOf(parts, place, written) {
    const { ts } = this.program;
    const isNull = ({ type }) => type.flags & ts.TypeFlags.Null;
    const kinds = parts.filter((part) => !isNull(part));
    const literals = kinds.map(({ type }) => type).filter((type) => isLiteral(ts, type));
    const others = kinds.filter(({ type }) => !literals.includes(type));
    this.#unions += kinds.length > 1 ? 1 : 0;
    const schemas = [
      ...ofLiterals(this.program, literals),
      ...others.map(({ type, node }) => {
        const schema = this.#single(type, place, undefined, node);
        return node === written ? schema : this.#asNamed(schema, node);
      }),
    ];
    this.#unions -= kinds.length > 1 ? 1 : 0;
    if (schemas.includes(undefined)) {
      return undefined;
    }
    return this.#asNamed(kinds.length < parts.length ? orNull(schemas) : anyOf(schemas), written);
  }

  /** What the comment of the author's own alias for a type says, and of the alias for which that one is. */
  #asNamed(schema, node) {
    const alias = schema && aliasOf(this.program, node);
    if (!alias) {
      return schema;
    }
    const { symbol, declaration } = alias;
    const refuse = (text) => this.program.problem(declaration, `${symbol.name}: ${text}`);
    const inner = this.#asNamed(schema, declaration.type);
    const description = descriptionOf(this.program, symbol);
    const { default: byDefault, ...named } = annotate(this.program, symbol, { ...inner, ...(description && { description }) }, refuse);
    if (byDefault !== undefined) {
      refuse("@default is for a member; write it there");
    }
    return named;
  }

  /** A type that is no union. Undefined if it was refused. */
  #single(type, place, defaults = new Map(), written = undefined) {
    const { ts, checker } = this.program;
    const { TypeFlags: is } = ts;
    if ((this.#parts += 1) > MAX_PARTS) {
      return this.#parts === MAX_PARTS + 1 ? this.#refuse(type, place, "something smaller: its schema has too many parts") : undefined;
    }
    if (type.flags & is.Unknown) return {};
    if (type.flags & is.String) return { type: "string" };
    if (type.flags & is.Number) return { type: "number" };
    if (isLiteral(ts, type)) return ofLiterals(this.program, [type])[0];
    if (type.isIntersection() && type.types.some(({ symbol }) => symbol?.name === "Integer" && this.program.isOfSdk(symbol))) {
      return { type: "integer" };
    }
    const instead = insteadOf(this.program, type);
    if (instead) {
      return this.#refuse(type, place, instead);
    }
    return this.#once(type, place, () => {
      if (checker.isArrayType(type)) {
        const [item] = checker.getTypeArguments(type);
        const items = this.#value(item, { ...place, what: `an item of ${place.what}` }, contentNode(this.program, written));
        return items && { type: "array", items };
      }
      return this.#object(type, place, defaults, written);
    });
  }

  /** Writes a type; inside of itself, only a reference to it. */
  #once(type, place, write) {
    if (this.#open.has(type) && !this.#names.has(type)) {
      const name = this.#freeName(this.#nameOf(type) ?? "list");
      this.#names.set(type, name);
      // Until it is written.
      this.#defs[name] = {};
    }
    const reference = () => ({ $ref: `#/$defs/${this.#names.get(type)}` });
    if (this.#names.has(type)) {
      return reference();
    }
    if (this.#open.size >= MAX_DEPTH) {
      return this.#refuse(type, place, "something that is nested less deep");
    }
    this.#open.add(type);
    const schema = write();
    this.#open.delete(type);
    if (schema === undefined || !this.#names.has(type)) {
      return schema;
    }
    this.#defs[this.#names.get(type)] = schema;
    return reference();
  }

  #object(type, place, defaults, written) {
    const { checker } = this.program;
    const properties = {};
    const required = [];
    for (const member of checker.getPropertiesOfType(type)) {
      const { schema, isOptional } = this.#member(member, place, defaults.get(member.name));
      // Written even if it was refused, so that all problems are found at once.
      Object.defineProperty(properties, member.name, { value: schema, enumerable: true });
      if (!isOptional) {
        required.push(member.name);
      }
    }
    const any = checker.getIndexInfosOfType(type)[0];
    const anyNode = any?.declaration?.type ?? contentNode(this.program, written);
    const additionalProperties = any && this.#value(any.type, { ...place, what: `a value of ${place.what}` }, anyNode);
    const description = descriptionOf(this.program, type.aliasSymbol ?? type.symbol);
    return {
      type: "object",
      ...(description && !this.program.isOfLibrary(type.aliasSymbol ?? type.symbol) && { description }),
      ...((!any || Object.keys(properties).length > 0) && { properties }),
      ...(required.length > 0 && { required }),
      ...(any && { additionalProperties }),
    };
  }

  #member(member, outer, byPattern) {
    const { ts, checker } = this.program;
    const declaration = member.declarations?.find((one) => !one.getSourceFile().isDeclarationFile);
    const node = declaration ?? outer.node;
    const place = { node, what: `${outer.what}.${member.name}` };
    const type = checker.getTypeOfSymbol(member);
    const written = declaration && ts.isPropertySignature(declaration) ? declaration.type : undefined;
    const all = partsOf(this.program, type, written);
    const given = all.filter((part) => !(part.type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)));
    const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0 || given.length < all.length;
    const made = this.#oneOf(given.length > 0 ? given : all, place, written);
    if (!made) {
      return { isOptional };
    }
    const refuse = (text) => this.program.problem(node, `${place.what}: ${text}`);
    if (declaration && hasLostComment(this.program, declaration)) {
      refuse("the comment in front of it is not read, since it does not begin a line; write it on a line above the member");
    }
    const description = descriptionOf(this.program, member) ?? made.description;
    const schema = annotate(this.program, member, { ...made, ...(description && { description }) }, refuse);
    return { schema: this.#withDefault(schema, isOptional, byPattern, refuse), isOptional };
  }

  /** Of a comment or of a pattern; neither makes sense where a value is always given. */
  #withDefault(schema, isOptional, byPattern, refuse) {
    if ("default" in schema && !isOptional) {
      refuse("@default is for what may be left out; write `?` behind the name");
    } else if ("default" in schema && this.#unions > 0) {
      refuse("@default inside of a union is not filled in; write it in the code");
    } else if ("default" in schema && byPattern && JSON.stringify(schema.default) !== JSON.stringify(byPattern.value)) {
      refuse(`@default says ${JSON.stringify(schema.default)}, and the parameter list of run ${JSON.stringify(byPattern.value)}`);
    } else if (byPattern && isOptional && !accepts(schema, byPattern.value)) {
      refuse(`the default in the parameter list of run, ${JSON.stringify(byPattern.value)}, is outside of what may be given`);
    }
    const { default: said, ...rest } = schema;
    const byDefault = said ?? (isOptional ? byPattern?.value : undefined);
    // A result has no defaults.
    return byDefault === undefined || this.isResult ? rest : { ...rest, default: byDefault };
  }

  /** The name of a type, if it has one. */
  #nameOf(type) {
    const name = (type.aliasSymbol ?? type.symbol)?.name;
    return name && !name.startsWith("__") && !this.program.checker.isArrayType(type) ? name : undefined;
  }

  #freeName(name) {
    let free = name;
    for (let number = 2; Object.hasOwn(this.#defs, free); number += 1) {
      free = `${name}${number}`;
    }
    return free;
  }
}

const anyOf = (schemas) => (schemas.length > 1 ? { anyOf: schemas } : schemas[0]);

/** These, or null. */
function orNull(schemas) {
  const [first] = schemas;
  if (schemas.length === 1 && first.type) {
    return { ...first, type: [first.type, "null"].flat(), ...(first.enum && { enum: [...first.enum, null] }) };
  }
  return anyOf([...schemas, { type: "null" }]);
}

const refName = ({ $ref }) => $ref.slice("#/$defs/".length);
