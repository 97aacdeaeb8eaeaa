// The methods of values that depend on a locale, in place of the engine's own.

import assert from "node:assert/strict";
import { test } from "node:test";

const methods = ["toLocaleLowerCase", "toLocaleUpperCase"];
const theirs = methods.map((name) => String.prototype[name]);
await import("../src/globals/intl.js");
const ours = methods.map((name) => String.prototype[name]);

test("letters are as in Node, or there is an error", () => {
  for (const at of methods.keys()) {
    for (const locale of [undefined, "en-US", "de", ["fr", "tr"], "trv", []]) {
      assert.equal(ours[at].call("I\u{131}i\u{df}\u{130}", locale), theirs[at].call("I\u{131}i\u{df}\u{130}", locale), `${locale}`);
    }
    for (const locale of ["tr", "az-Latn", ["TR", "en"], "lt", "el"]) {
      assert.throws(() => ours[at].call("I", locale), /en-US only, not/, `${locale}`);
    }
  }
});

test("what is in a list is formatted as it is alone", () => {
  const list = [1234.5, null, undefined, [2000]];
  assert.equal(list.toLocaleString(), "1,234.5,,,2,000");
  assert.equal(list.toLocaleString("en-US", { minimumFractionDigits: 2 }), "1,234.50,,,2,000.00");
  assert.throws(() => list.toLocaleString("de-DE"), /en-US only, not de-DE/);
  assert.throws(() => new Float64Array([1.5]).toLocaleString("de-DE"), /en-US only, not de-DE/);
});
