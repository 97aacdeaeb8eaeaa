// Node's `url`, without its older functions, which Node itself advises against.

import "../globals/url.js";

export const { URL, URLSearchParams } = globalThis;

export function fileURLToPath(url) {
  const { protocol, pathname } = new URL(url);
  if (protocol !== "file:") {
    throw new TypeError(`${url} is not the URL of a file`);
  }
  return decodeURIComponent(pathname);
}

export const pathToFileURL = (path) => new URL(`file://${path.split("/").map(encodeURIComponent).join("/")}`);

export const format = (url) => String(url);

export function parse(text) {
  throw new Error(`url.parse is not in the sandbox: write new URL(${JSON.stringify(text)})`);
}

export default { URL, URLSearchParams, fileURLToPath, format, parse, pathToFileURL };
