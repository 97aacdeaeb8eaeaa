// Types as they are written: the parts of unions in their order, the author's own aliases.

/** The parts of a type, each with the node that it is written as, in the order of these: the checker has its own. */
export function partsOf({ ts, checker }, type, written) {
  if (!type.isUnion()) {
    return [{ type, node: written }];
  }
  const nodes = written ? leavesOf({ ts, checker }, written) : [];
  const types = nodes.map((node) => checker.getTypeFromTypeNode(node));
  const at = (part) => (types.includes(part) ? types.indexOf(part) : types.length);
  const parts = [...type.types].sort((one, other) => at(one) - at(other));
  return parts.map((part) => ({ type: part, node: nodes[at(part)] }));
}

function leavesOf(program, node) {
  const { ts } = program;
  if (ts.isParenthesizedTypeNode(node)) {
    return leavesOf(program, node.type);
  }
  const aliased = aliasOf(program, node)?.declaration.type;
  const union = aliased && ts.isUnionTypeNode(aliased) ? aliased : node;
  return ts.isUnionTypeNode(union) ? union.types.flatMap((one) => leavesOf(program, one)) : [node];
}

/** The alias that a node names, if it is one of the author's own. */
export function aliasOf({ ts, checker }, node) {
  const named = node && ts.isTypeReferenceNode(node) ? checker.getSymbolAtLocation(node.typeName) : undefined;
  const symbol = named && named.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(named) : named;
  const declaration = symbol?.declarations?.find(ts.isTypeAliasDeclaration);
  return declaration && !declaration.getSourceFile().isDeclarationFile ? { symbol, declaration } : undefined;
}

/** The node of what a list or a record has, as `T[]`, `Array<T>` or `Record<string, T>` name it. */
export function contentNode(program, node) {
  const { ts } = program;
  const alias = aliasOf(program, node);
  if (alias) {
    return contentNode(program, alias.declaration.type);
  }
  if (node && (ts.isTypeOperatorNode(node) || ts.isParenthesizedTypeNode(node))) {
    return contentNode(program, node.type);
  }
  if (node && ts.isTypeReferenceNode(node) && ["Array", "ReadonlyArray", "Record"].includes(node.typeName.text)) {
    return node.typeArguments?.at(-1);
  }
  return node && ts.isArrayTypeNode(node) ? node.elementType : undefined;
}

export const isLiteral = ({ TypeFlags: is }, { flags }) => flags & (is.StringLiteral | is.NumberLiteral | is.BooleanLiteral);

/** The schemas of literals: one for each type that they have. */
export function ofLiterals({ ts, checker }, literals) {
  const groups = new Map();
  for (const literal of literals) {
    const isBoolean = literal.flags & ts.TypeFlags.BooleanLiteral;
    const value = isBoolean ? checker.typeToString(literal) === "true" : literal.value;
    groups.set(typeof value, [...(groups.get(typeof value) ?? []), value]);
  }
  return [...groups].map(([type, values]) => {
    if (type === "boolean" && values.length === 2) {
      return { type };
    }
    return { type: type === "number" && values.every(Number.isInteger) ? "integer" : type, enum: values };
  });
}
