// The one way out of a plugin: the real host in WebAssembly, a fake one in tests.

let current;

/** Sets the host, and returns the one before. */
export function use(host) {
  const before = current;
  current = host;
  return before;
}

export function host() {
  if (!current) {
    throw new Error("there is no host here; in a test, call the tool by the Host of portcullis-guest/testing");
  }
  return current;
}
