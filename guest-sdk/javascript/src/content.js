// Pieces of content in results and in chunks: plain objects with a `type`.

const roles = (audience) => (typeof audience === "string" ? [audience] : audience);

const annotated = ({ audience = [], priority, lastModified }) => ({
  audience: roles(audience),
  priority,
  lastModified,
});

// In full: each text of each call is made here, and to spread an object takes several times as long.
export const text = (words, { audience = [], priority, lastModified } = {}) => ({
  type: "text",
  text: words,
  audience: roles(audience),
  priority,
  lastModified,
});
export const image = (data, mimeType, hints = {}) => ({ type: "image", data, mimeType, ...annotated(hints) });
export const audio = (data, mimeType, hints = {}) => ({ type: "audio", data, mimeType, ...annotated(hints) });
export const link = (uri, name, about = {}) => ({ type: "link", uri, name, ...about, ...annotated(about) });
/** A resource with its content: a string, or bytes. */
export const embedded = (uri, body, about = {}) => ({
  type: "embedded",
  uri,
  body,
  mimeType: about.mimeType,
  ...annotated(about),
});

const KINDS = ["text", "image", "audio", "link", "embedded"];

export const isContent = (value) => KINDS.includes(value?.type) && Array.isArray(value.audience);

export function piece(value) {
  if (typeof value === "string") {
    return text(value);
  }
  if (isContent(value)) {
    return value;
  }
  throw new TypeError(`${JSON.stringify(value)} is not content; send a string, or what text, image, audio, link or embedded make`);
}

/** A result in full. `structured` is JSON text. */
export class ToolResult {
  constructor(content = [], structured = undefined, isError = false) {
    this.content = content;
    this.structured = structured;
    this.isError = isError;
  }

  /** All texts of the content, joined by newlines. */
  get text() {
    return textOf(this.content);
  }
}

export const textOf = (content) =>
  content
    .filter((one) => one.type === "text")
    .map((one) => one.text)
    .join("\n");

/** A failure that the tool itself reports, with content of any kind. */
export const failure = (...content) => new ToolResult(content.map(piece), undefined, true);
