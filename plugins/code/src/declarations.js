// Tools as TypeScript: shorter than their schemas, and what models know best.

/// Nesting of one declaration. Bounds schemas that refer to themselves.
const DEEPEST = 8;
/// Characters of one declaration. A schema may be large; nobody reads more.
const LONGEST = 20_000;
/// Characters of a description beside a field.
const NOTE = 200;

/// A tool as the declaration of a function, with its description.
export function declare(tool) {
  const words = `${comment(tool.description, "")}${signature(tool)};`;
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}

/// The declaration without descriptions, on one line.
export function signature(tool, notes = true) {
  const input = parse(tool.inputSchema);
  const output = tool.outputSchema ? parse(tool.outputSchema) : undefined;
  const type = (schema) => new Types(schema, notes).of(schema, "", 0);
  const optional = (input.required ?? []).length === 0 ? "?" : "";
  const args = Object.keys(input.properties ?? {}).length === 0 ? "" : `args${optional}: ${type(input)}`;
  return `${path(tool.name)}(${args}): Promise<${output ? type(output) : "string"}>`;
}

function parse(text) {
  try {
    const schema = JSON.parse(text);
    return schema !== null && typeof schema === "object" ? schema : {};
  } catch {
    return {};
  }
}

/// `tools.notes.add`, or `tools["my-notes"].add` where a name is no identifier.
function path(name) {
  const step = (part) => (/^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`);
  return `tools${name.split(".").map(step).join("")}`;
}

function comment(text, indent) {
  const words = String(text ?? "").replaceAll("*/", "* /").trim();
  if (words === "") return "";
  const lines = words.split("\n");
  if (lines.length === 1) return `${indent}/** ${words} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

class Types {
  constructor(root, notes) {
    this.root = root;
    this.notes = notes;
  }

  of(schema, indent, depth) {
    if (schema === true || schema === undefined) return "unknown";
    if (schema === false) return "never";
    if (schema === null || typeof schema !== "object" || depth > DEEPEST) return "unknown";
    if (typeof schema.$ref === "string") return this.of(this.#target(schema.$ref), indent, depth + 1);
    if ("const" in schema) return JSON.stringify(schema.const);
    if (Array.isArray(schema.enum)) return union(schema.enum.map((value) => JSON.stringify(value)));
    const choices = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(choices)) return union(choices.map((choice) => this.of(choice, indent, depth + 1)));
    if (Array.isArray(schema.allOf)) {
      return schema.allOf.map((part) => this.of(part, indent, depth + 1)).join(" & ");
    }
    if (Array.isArray(schema.type)) {
      return union(schema.type.map((type) => this.of({ ...schema, type }, indent, depth + 1)));
    }
    switch (schema.type) {
      case "string":
      case "boolean":
      case "null":
        return schema.type;
      case "integer":
      case "number":
        return "number";
      case "array":
        return this.#array(schema, indent, depth);
      default:
        return schema.type === "object" || schema.properties ? this.#object(schema, indent, depth) : "unknown";
    }
  }

  #target(ref) {
    if (!ref.startsWith("#")) return undefined;
    const steps = ref.slice(1).split("/").filter(Boolean);
    const unescaped = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    return unescaped.reduce((at, step) => (at !== null && typeof at === "object" ? at[step] : undefined), this.root);
  }

  #array(schema, indent, depth) {
    if (Array.isArray(schema.prefixItems)) {
      return `[${schema.prefixItems.map((item) => this.of(item, indent, depth + 1)).join(", ")}]`;
    }
    const item = this.of(schema.items, indent, depth + 1);
    return /^[\w.]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
  }

  #object(schema, indent, depth) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const fields = Object.entries(schema.properties ?? {});
    if (fields.length === 0) {
      return `Record<string, ${this.of(schema.additionalProperties, indent, depth + 1)}>`;
    }
    const inner = `${indent}  `;
    const one = ([name, field]) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      const note = this.notes ? comment(noteOf(field), inner) : "";
      return { note, words: `${key}${required.has(name) ? "" : "?"}: ${this.of(field, inner, depth + 1)}` };
    };
    const shown = fields.map(one);
    if (!this.notes) return `{ ${shown.map(({ words }) => words).join("; ")} }`;
    return `{\n${shown.map(({ note, words }) => `${note}${inner}${words};\n`).join("")}${indent}}`;
  }
}

/// What a type cannot say.
function noteOf(schema) {
  if (schema === null || typeof schema !== "object") return "";
  const description = String(schema.description ?? "").replace(/\s+/g, " ").slice(0, NOTE);
  const words = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format", "default"];
  const limits = words.filter((word) => word in schema).map((word) => `${word} ${JSON.stringify(schema[word])}`);
  return [description, schema.type === "integer" ? "integer" : "", ...limits].filter(Boolean).join(", ");
}

function union(types) {
  return [...new Set(types)].join(" | ") || "never";
}
