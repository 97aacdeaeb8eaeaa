// Finds each call of the SDK's `typedTool`, by what TypeScript resolves it to, and makes the schemas of its types.

import { Schemas } from "./types.js";

/** The schemas by the names of tools, as text. Problems are added to the program. */
export function typedTools(program) {
  const { ts, checker } = program;
  // Without a prototype: a tool may have any name.
  const found = Object.create(null);
  const visit = (node) => {
    const signature = ts.isCallExpression(node) && checker.getResolvedSignature(node);
    if (signature?.declaration?.name?.text === "typedTool" && program.isOfSdk(signature.declaration.symbol)) {
      const schemas = schemasOf(program, node, signature);
      namesOf(program, node).forEach((name) => (found[name] = schemas));
    }
    ts.forEachChild(node, visit);
  };
  program.modules.forEach(visit);
  return found;
}

/** The names that a tool can have: that of the call, or those of a union. */
function namesOf(program, call) {
  const { checker } = program;
  const [offer] = call.arguments;
  const name = checker.getTypeAtLocation(offer).getProperty("name");
  const written = propertyOf(program, offer, "name")?.initializer;
  const type = written ? checker.getTypeAtLocation(written) : checker.getTypeOfSymbolAtLocation(name, offer);
  const types = type.isUnion() ? type.types : [type];
  if (!types.every((one) => one.isStringLiteral())) {
    program.problem(written ?? call, "no name is known when the plugin is built: write `name` as a string, in the call of typedTool");
    return [];
  }
  return types.map(({ value }) => value);
}

function schemasOf(program, call, signature) {
  const [given, result] = program.checker.getTypeArgumentsForResolvedSignature(signature);
  const [givenNode, resultNode] = call.typeArguments ?? [];
  const input = new Schemas(program, { defaults: defaultsOf(program, call) }).ofArguments(given, givenNode ?? call);
  const output = new Schemas(program, { isResult: true }).ofResult(result, resultNode ?? call);
  return { input: JSON.stringify(input), output: output && JSON.stringify(output) };
}

/** The defaults that `run` has in its list of parameters: `run({ days = 3 })`. */
function defaultsOf(program, call) {
  const { ts } = program;
  const defaults = new Map();
  const run = propertyOf(program, call.arguments[0], "run");
  const pattern = (run?.initializer ?? run)?.parameters?.[0]?.name;
  if (!pattern || !ts.isObjectBindingPattern(pattern)) {
    return defaults;
  }
  for (const { propertyName, name, initializer } of pattern.elements) {
    const value = initializer && valueOf(program, initializer);
    if (value !== undefined) {
      defaults.set((propertyName ?? name).text, { value, node: initializer });
    }
  }
  return defaults;
}

/** The value of an expression that is known when the plugin is built. */
function valueOf(program, node) {
  const { ts, checker } = program;
  if (ts.isArrayLiteralExpression(node)) {
    const items = node.elements.map((item) => valueOf(program, item));
    return items.includes(undefined) ? undefined : items;
  }
  const type = checker.getTypeAtLocation(node);
  if (type.isStringLiteral() || type.isNumberLiteral()) {
    return type.value;
  }
  const known = { true: true, false: false, null: null };
  return known[checker.typeToString(type)];
}

/** What stands in an object's braces under a name. */
function propertyOf({ ts }, object, name) {
  return ts.isObjectLiteralExpression(object) ? object.properties.find((one) => one.name?.text === name) : undefined;
}
