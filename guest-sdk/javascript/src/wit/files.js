// Files of wasi:filesystem. In the component of a plugin that requests `filesystem` or `scratch` only.

import preopens from "wasi:filesystem/preopens@0.2.12";

import { Denied, FileError } from "../errors.js";
import { provide } from "../host.js";

// How much is read or written at once.
const PIECE = 64 << 10;

// The host lets no link lead out.
const FOLLOW = { symlinkFollow: true };
const SENTENCES = { "no-entry": " does not exist", "is-directory": " is a folder", "not-directory": " is not a folder" };

/** Works with the granted folder of a path and the rest of the path; closes everything that was opened. */
function within(path, work) {
  const opened = [];
  const keep = (handle) => {
    opened.push(handle);
    return handle;
  };
  try {
    const folders = preopens.getDirectories().map(([folder, at]) => ({ folder: keep(folder), at: at.replace(/\/+$/, "") }));
    const of = folders
      .filter(({ at }) => path === at || path.startsWith(`${at}/`))
      .sort((one, other) => other.at.length - one.at.length)[0];
    if (!of) {
      throw new Denied("filesystem", path);
    }
    return work(of.folder, path.slice(of.at.length + 1) || ".", keep);
  } catch (error) {
    const { payload: code } = error ?? {};
    if (typeof code !== "string") {
      throw error;
    }
    throw code === "not-permitted" ? new Denied("filesystem", path) : new FileError(code, `\`${path}\`${SENTENCES[code] ?? `: ${code}`}`);
  } finally {
    // What was opened last goes first.
    opened.reverse().forEach((handle) => handle[Symbol.dispose]());
  }
}

const readFile = (path) =>
  within(path, (folder, rest, keep) => {
    const file = keep(folder.openAt(FOLLOW, rest, {}, { read: true }));
    const pieces = [];
    let length = 0;
    for (;;) {
      const [piece, isEnd] = file.read(PIECE, length);
      pieces.push(new Uint8Array(piece));
      length += piece.length;
      if (isEnd || piece.length === 0) {
        break;
      }
    }
    const found = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      found.set(piece, at);
      at += piece.length;
    }
    return found;
  });

const writeFile = (path, bytes) =>
  within(path, (folder, rest, keep) => {
    const file = keep(folder.openAt(FOLLOW, rest, { create: true, truncate: true }, { write: true }));
    for (let at = 0; at < bytes.length; ) {
      at += Number(file.write(bytes.slice(at, at + PIECE), at));
    }
  });

const listFiles = (path) =>
  within(path, (folder, rest, keep) => {
    const opened = keep(folder.openAt(FOLLOW, rest, { directory: true }, { read: true }));
    const entries = keep(opened.readDirectory());
    const names = [];
    for (let entry = entries.readDirectoryEntry(); entry; entry = entries.readDirectoryEntry()) {
      names.push(entry.name);
    }
    return names;
  });

const removeFile = (path) => within(path, (folder, rest) => folder.unlinkFileAt(rest));

provide({ readFile, writeFile, listFiles, removeFile });
