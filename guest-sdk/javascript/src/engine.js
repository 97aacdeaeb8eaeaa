// While Node loads a plugin to ask what it offers, it has the global names that the component's engine has, and no others: packages look
// at them to decide what they use.

const NAMES = `AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DOMException DataView Date
  DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array
  Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set
  SharedArrayBuffer String SuppressedError Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray
  WeakMap WeakRef WeakSet atob btoa console decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite
  isNaN parseFloat parseInt performance queueMicrotask undefined unescape`.split(/\s+/);

for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!NAMES.includes(name)) {
    Reflect.deleteProperty(globalThis, name);
  }
}
