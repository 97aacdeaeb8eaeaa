// In place of the real host outside of WebAssembly, where a test gives a fake one.
