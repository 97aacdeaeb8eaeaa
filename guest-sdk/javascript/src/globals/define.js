// Global names. `portcullis build` adds the modules beside this one whose names a plugin or one of its packages mentions, and no others.

/** Packages may replace what is defined, as everywhere. */
export function define(values, on = globalThis) {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(on, name, { value, writable: true, configurable: true, enumerable: false });
  }
}
