// Files in the folders that were granted. The manifest requests them, `"filesystem": "read"` or `"write"`.

import "#wit/files";

import { host } from "./host.js";
import { decode, encode } from "./utf8.js";

/** The text of a file. */
export const readText = async (path) => decode(host().readFile(path));

/** The bytes of a file. */
export const read = async (path) => host().readFile(path);

/** Writes text or bytes, in the place of what was there. */
export const write = async (path, body) => host().writeFile(path, typeof body === "string" ? encode(body) : body);

/** The names in a folder, sorted. */
export const list = async (path) => host().listFiles(path).sort();

/** Removes a file. */
export const remove = async (path) => host().removeFile(path);
