// Node's `assert`: what code outside of tests uses.

export class AssertionError extends Error {
  name = "AssertionError";
  code = "ERR_ASSERTION";
}

function fail(message, otherwise) {
  throw message instanceof Error ? message : new AssertionError(message ?? otherwise);
}

export const ok = (value, message) => void (value || fail(message, "the value is not true"));
export const strictEqual = (one, other, message) => void (Object.is(one, other) || fail(message, `${one} is not ${other}`));
export const notStrictEqual = (one, other, message) => void (Object.is(one, other) && fail(message, `${one} is ${other}`));

const assert = (value, message) => ok(value, message);
export default Object.assign(assert, { AssertionError, fail, notStrictEqual, ok, strict: assert, strictEqual });
export { assert as strict, fail };
