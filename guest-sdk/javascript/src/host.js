// The one way out of a plugin: the real host in WebAssembly, a fake one in tests.
//
// Each module of the SDK imports its part of the real host as `#wit/…`, which is none.js outside of WebAssembly. So a component
// imports only what its plugin may use.

/** How long timers and requests can wait, in milliseconds: longer than any call. */
export const LONGEST = 2 ** 31 - 1;

const real = {};
let current;
let loaded = false;

/** Adds functions of the real host. */
export function provide(functions) {
  current = Object.assign(real, functions);
}

/** Sets the host, and returns the one before. */
export function use(host) {
  const before = current;
  current = host;
  return before;
}

export function host() {
  if (!current) {
    throw new Error(
      "there is no host here: the modules of a plugin are loaded when it is built, and only its tools reach the host; in a test, call the tool by the Host of portcullis-guest/testing",
    );
  }
  return current;
}

/** Whether all modules of the component have been loaded, which is once, when it is built. */
export const isLoaded = () => loaded;

export function finishLoading() {
  loaded = true;
}
