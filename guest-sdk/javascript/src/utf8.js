// UTF-8, where the engine has no encoder of its own.

export function encode(text) {
  // Halves of characters have no encoding.
  const escaped = unescape(encodeURIComponent(text.toWellFormed()));
  const bytes = new Uint8Array(escaped.length);
  for (let at = 0; at < escaped.length; at += 1) {
    bytes[at] = escaped.charCodeAt(at);
  }
  return bytes;
}

/** Malformed bytes are replaced, one by one; or they are an error. */
export function decode(bytes, fatal = false) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at];
    const length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    const code = length && point(bytes, at, length);
    if (code === undefined || length === 0) {
      if (fatal) {
        throw new TypeError("the bytes are not UTF-8");
      }
      text += "\ufffd";
      at += 1;
    } else {
      text += String.fromCodePoint(code);
      at += length;
    }
  }
  return text;
}

const LEAST = [0, 0, 0x80, 0x800, 0x10000];

function point(bytes, at, length) {
  if (length === 1) {
    return bytes[at];
  }
  let code = bytes[at] & (0xff >> (length + 1));
  for (let next = at + 1; next < at + length; next += 1) {
    if ((bytes[next] & 0xc0) !== 0x80) {
      return undefined;
    }
    code = (code << 6) | (bytes[next] & 0x3f);
  }
  const isBad = code < LEAST[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  return isBad ? undefined : code;
}
