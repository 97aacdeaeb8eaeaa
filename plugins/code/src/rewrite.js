// Makes a program runnable at once: without types, and with waits in the place of `await`. Everything stays on its line, so errors
// name the lines of the program as it was written.

import * as acorn from "acorn";
import { tsPlugin } from "@sveltejs/acorn-typescript";

const TypeScript = acorn.Parser.extend(tsPlugin());
const OPTIONS = {
  ecmaVersion: "latest",
  sourceType: "script",
  locations: true,
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
};

/// Returns the body of a function that runs the program, and calls `$await`, `$async` and `$iterate`. The value of the last statement is returned if nothing else is; if that
/// is a function, it is called. Throws a SyntaxError that says where.
export function rewrite(program) {
  const text = withoutFence(program);
  const tree = parse(text);
  const edits = new Edits(text);
  returnLast(tree.body, edits);
  for (const statement of tree.body) visit(statement, edits);
  return edits.apply();
}

/// Models often put a program into a block of Markdown.
function withoutFence(program) {
  const fenced = /^\s*```\w*\n([^]*?)\n?```\s*$/.exec(program);
  return fenced ? fenced[1] : program;
}

function parse(text) {
  try {
    return acorn.parse(text, OPTIONS);
  } catch {
    // Not JavaScript.
  }
  try {
    return TypeScript.parse(text, OPTIONS);
  } catch (error) {
    const at = error.loc ? ` (line ${error.loc.line}, column ${error.loc.column + 1})` : "";
    throw new SyntaxError(`${String(error.message).replace(/ \(\d+:\d+\)$/, "")}${at}`);
  }
}

/// Changes to a text, by position.
class Edits {
  #text;
  #edits = [];

  constructor(text) {
    this.#text = text;
  }

  get text() {
    return this.#text;
  }

  /// Opens something at a position; what was opened there earlier is outside of it.
  before(at, words) {
    this.#edits.push({ start: at, end: at, words, rank: 1, order: this.#edits.length });
  }

  /// Closes something at a position; what is closed there later is inside of it.
  after(at, words) {
    this.#edits.push({ start: at, end: at, words, rank: 0, order: -this.#edits.length });
  }

  replace(start, end, words) {
    this.#edits.push({ start, end, words, rank: 2, order: this.#edits.length });
  }

  /// Removes a part but its line breaks.
  blank(start, end) {
    this.replace(start, end, this.#text.slice(start, end).replace(/[^\n\r\u2028\u2029]/g, " "));
  }

  /// Removes the first `word` between two positions.
  blankWord(word, start, end) {
    const at = this.#text.slice(start, end).search(new RegExp(word));
    if (at >= 0) this.blank(start + at, start + at + this.#text.slice(start + at).match(new RegExp(word))[0].length);
  }

  apply() {
    const sorted = this.#edits.sort((a, b) => a.start - b.start || a.rank - b.rank || a.order - b.order);
    let done = 0;
    let result = "";
    for (const { start, end, words } of sorted) {
      // Within a part that is gone already.
      if (start < done) continue;
      result += this.#text.slice(done, start) + words;
      done = end;
    }
    return result + this.#text.slice(done);
  }
}

function visit(node, edits) {
  const change = CHANGES[node.type];
  if (change) {
    if (change(node, edits) === REMOVED) return;
  } else if (node.type.startsWith("TS")) {
    throw unsupported(node, `\`${node.type}\``);
  }
  for (const [key, child] of Object.entries(node)) {
    if (key === "loc" || key === "implements") continue;
    for (const part of Array.isArray(child) ? child : [child]) {
      if (part !== null && typeof part === "object" && typeof part.type === "string") visit(part, edits);
    }
  }
}

const REMOVED = Symbol("removed");

const remove = (node, edits) => {
  edits.blank(node.start, node.end);
  return REMOVED;
};

/// A declaration of types ends the statement before it.
const removeStatement = (node, edits) => {
  edits.blank(node.start, node.end);
  edits.after(node.end, ";");
  return REMOVED;
};

/// Keeps the expression only.
const unwrap = (node, edits) => {
  edits.blank(node.start, node.expression.start);
  visit(node.expression, edits);
  edits.blank(node.expression.end, node.end);
  return REMOVED;
};

/// `x?: T` and `x!: T`.
const unmark = (node, edits) => {
  if (!node.typeAnnotation && !node.optional && !node.definite) return;
  const from = node.type === "Identifier" ? node.start + node.name.length : (node.key ?? node).end;
  const to = node.typeAnnotation ? node.typeAnnotation.start : node.end;
  if (node.optional || node.definite) edits.blankWord("[?!]", from, Math.max(to, from + 1));
};

const member = (node, edits) => {
  if (node.declare || node.abstract) return remove(node, edits);
  const until = node.computed ? edits.text.indexOf("[", node.start) : node.key.start;
  for (const word of ["public", "private", "protected", "readonly", "override", "abstract"]) {
    edits.blankWord(`\\b${word}\\b`, node.start, until);
  }
  if (node.type !== "MethodDefinition") unmark(node, edits);
  if (node.type === "MethodDefinition" && !node.value.body) return remove(node, edits);
  if (node.value?.async) edits.blankWord("\\basync\\b", node.start, until);
};

const callable = (node, edits) => {
  if (!node.body) return removeStatement(node, edits);
  if (!node.async) return undefined;
  // That of a method stands before its name, and is no part of this node.
  if (edits.text.startsWith("async", node.start)) edits.blank(node.start, node.start + 5);
  if (node.generator) return undefined;
  if (node.body.type === "BlockStatement") {
    edits.before(node.body.start + 1, " return $async(() => {");
    edits.after(node.body.end - 1, "});");
  } else {
    edits.before(node.body.start, "$async(() => (");
    edits.after(node.body.end, "))");
  }
  return undefined;
};

const CHANGES = {
  AwaitExpression(node, edits) {
    edits.replace(node.start, node.start + 5, "$await(");
    edits.after(node.end, ")");
  },
  ForOfStatement(node, edits) {
    if (!node.await) return;
    edits.blankWord("\\bawait\\b", node.start, node.left.start);
    edits.before(node.right.start, "$iterate(");
    edits.after(node.right.end, ")");
  },
  FunctionDeclaration: callable,
  FunctionExpression: callable,
  ArrowFunctionExpression: callable,
  Property(node, edits) {
    if (node.method && node.value.async) {
      edits.blankWord("\\basync\\b", node.start, node.computed ? edits.text.indexOf("[", node.start) : node.key.start);
    }
  },
  MethodDefinition: member,
  PropertyDefinition: member,
  Identifier: unmark,
  VariableDeclarator(node, edits) {
    if (node.definite) edits.blankWord("!", node.id.start + node.id.name.length, node.id.end);
  },
  ClassDeclaration(node, edits) {
    if (node.declare || node.abstract && !node.body) return removeStatement(node, edits);
    if (node.abstract) edits.blankWord("\\babstract\\b", node.start, node.body.start);
    return unimplement(node, edits);
  },
  ClassExpression: (node, edits) => unimplement(node, edits),
  VariableDeclaration: (node, edits) => (node.declare ? removeStatement(node, edits) : undefined),
  ImportDeclaration: (node) => {
    throw unsupported(node, "an import: a program has `tools`, `console` and the language itself, and no modules");
  },
  ExportNamedDeclaration: (node) => {
    throw unsupported(node, "an export: a program returns its result");
  },
  TSEnumDeclaration: (node) => {
    throw unsupported(node, "an enum: use an object");
  },
  TSModuleDeclaration: (node) => {
    throw unsupported(node, "a namespace: use an object");
  },
  TSParameterProperty: (node) => {
    throw unsupported(node, "parameters that declare fields: assign them");
  },
  TSTypeAnnotation: remove,
  TSTypeParameterDeclaration: remove,
  TSTypeParameterInstantiation: remove,
  TSInterfaceDeclaration: removeStatement,
  TSTypeAliasDeclaration: removeStatement,
  TSDeclareFunction: removeStatement,
  TSDeclareMethod: remove,
  TSAbstractMethodDefinition: remove,
  TSAbstractPropertyDefinition: remove,
  TSIndexSignature: remove,
  TSAsExpression: unwrap,
  TSSatisfiesExpression: unwrap,
  TSTypeAssertion: unwrap,
  TSNonNullExpression: unwrap,
  TSInstantiationExpression: unwrap,
};

/// `implements` of a class: between what it extends and its body.
function unimplement(node, edits) {
  if (!node.implements?.length) return;
  const from = (node.superTypeParameters ?? node.superClass ?? node.typeParameters ?? node.id ?? node).end ?? node.start;
  const start = node.superClass || node.typeParameters || node.id ? from : node.start + 5;
  edits.blank(start, node.body.start);
}

function unsupported(node, what) {
  return new SyntaxError(`a program cannot have ${what} (line ${node.loc.start.line}, column ${node.loc.start.column + 1})`);
}

function returnLast(statements, edits) {
  const last = statements.at(-1);
  if (last?.type !== "ExpressionStatement") {
    // A program that is one function is meant to be called.
    if (statements.length === 1 && last.type === "FunctionDeclaration" && last.id) {
      edits.after(last.end, `; return ${last.id.name}();`);
    }
    return;
  }
  const isFunction = ["ArrowFunctionExpression", "FunctionExpression"].includes(last.expression.type);
  edits.before(last.start, isFunction ? "return ((" : "return (");
  // Before a comment or a semicolon that follows the expression.
  edits.after(endOfExpression(last, edits.text), isFunction ? "))()" : ")");
}

/// An expression in parentheses ends behind them.
function endOfExpression(statement, text) {
  const end = statement.end;
  return text[end - 1] === ";" ? end - 1 : end;
}
