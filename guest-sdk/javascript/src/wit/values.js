// Values that cross to the host and back: what componentize-qjs binds, in the words of this package.
//
// WIT names become JavaScript's: a variant is `{ tag, val }`, an enum its case's name, an option the value or null; an error is
// thrown as the bare value of the WIT's error type, and one of an import is caught as the `payload` of an Error. The records
// `call-context`, `tool-result` and `content` are arrays of their fields: for this package, `portcullis build` writes them as tuples, which
// are made faster.

import * as errors from "../errors.js";

export const orNull = (value) => value ?? null;
export const orNothing = (value) => value ?? undefined;

export function toContent(one) {
  const isPlain = one.audience.length === 0 && one.priority === undefined && one.lastModified === undefined;
  const annotations = isPlain
    ? null
    : { audience: one.audience, priority: orNull(one.priority), lastModified: orNull(one.lastModified) };
  return [toData(one), annotations];
}

function toData(one) {
  const { type, data, mimeType } = one;
  switch (type) {
    case "text":
      return { tag: "text", val: one.text };
    case "link": {
      const { uri, name, title, description, size } = one;
      const about = { title: orNull(title), description: orNull(description), mimeType: orNull(mimeType), size: orNull(size) };
      return { tag: "resource-link", val: { uri, name, ...about } };
    }
    case "embedded":
      return { tag: "resource", val: toEmbedded(one) };
    default:
      return { tag: type, val: { mimeType, data } };
  }
}

export const toBody = (body) => ({ tag: typeof body === "string" ? "text" : "blob", val: body });

export const toEmbedded = ({ uri, body, mimeType }) => ({
  uri,
  mimeType: orNull(mimeType),
  body: toBody(body),
});

export function fromContent([{ tag, val }, annotations]) {
  const hints = {
    audience: annotations?.audience ?? [],
    priority: orNothing(annotations?.priority),
    lastModified: orNothing(annotations?.lastModified),
  };
  switch (tag) {
    case "text":
      return { type: "text", text: val, ...hints };
    case "resource-link":
      return { ...val, type: "link", ...hints };
    case "resource":
      return { type: "embedded", uri: val.uri, body: val.body.val, mimeType: orNothing(val.mimeType), ...hints };
    default:
      return { type: tag, ...val, ...hints };
  }
}

/** What an error that left a tool is to the host. */
export function toError(error) {
  if (error instanceof errors.InvalidArguments) {
    return { tag: "invalid-arguments", val: error.message };
  }
  if (error instanceof errors.Cancelled) {
    return { tag: "cancelled" };
  }
  if (error instanceof errors.Denied) {
    const { capability, target, remedy } = error;
    return { tag: "denied", val: { capability, target, remedy } };
  }
  if (error instanceof errors.Exhausted) {
    return { tag: "exhausted", val: { budget: error.budget, limit: error.limit } };
  }
  if (error instanceof errors.Unsupported) {
    return { tag: "unsupported", val: error.what };
  }
  return { tag: "failed", val: String(error?.message || error) };
}

const denied = ({ capability, target, remedy }) => new errors.Denied(capability, target, remedy);
const exhausted = ({ budget, limit }) => new errors.Exhausted(budget, Number(limit));

// What every interface has in common.
export const COMMON = { denied, exhausted, cancelled: () => new errors.Cancelled() };

export function kinds(Kind, sentences) {
  return Object.fromEntries(Object.entries(sentences).map(([kind, say]) => [kind, (val) => new Kind(kind, say(val))]));
}

export function made(work, table) {
  try {
    return work();
  } catch (error) {
    const { tag, val } = error?.payload ?? {};
    throw tag in table ? table[tag](val) : error;
  }
}

/** The error that a value of the WIT's error type is. */
export const errorOf = ({ tag, val }, table) => table[tag](val);
