// UTF-8, where the engine has no encoder of its own. A loop takes 6,000 of a call's fuel for each byte, and the engine's own functions
// take 300 to 900; some of them write bytes as characters of Latin-1.

// How many letters and bytes the engine is given at once.
const PIECE = 8192;

// Node 20, which runs tests of plugins, has no base64 of bytes.
const isQuick = "fromBase64" in Uint8Array;
const latin = isQuick ? (bytes) => atob(bytes.toBase64()) : (bytes) => String.fromCharCode.apply(null, bytes);
const bytesOf = isQuick ? (text) => Uint8Array.fromBase64(btoa(text)) : (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

export function encode(text) {
  // Halves of characters have no encoding.
  return bytesOf(isAscii(text) ? text : unescape(encodeURIComponent(text.toWellFormed())));
}

/** Malformed bytes are replaced, as browsers do; or they are an error. */
export function decode(bytes, fatal = false) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const end = endOfPiece(bytes, at + PIECE);
    const piece = latin(bytes.subarray(at, end));
    text += isAscii(piece) ? piece : decoded(piece, fatal);
    at = end;
  }
  return text;
}

function isAscii(text) {
  for (let at = 0; at < text.length; at += PIECE) {
    // Quicker than a search for others; but the engine keeps something of every letter while it looks.
    if (!/[\x00-\x7f]*$/y.test(text.slice(at, at + PIECE))) {
      return false;
    }
  }
  return true;
}

/** Where no character is cut. */
function endOfPiece(bytes, end) {
  const begins = [end, end - 1, end - 2, end - 3].find((at) => (bytes[at] & 0xc0) !== 0x80);
  return end < bytes.length ? (begins ?? end) : bytes.length;
}

function decoded(piece, fatal) {
  try {
    return decodeURIComponent(escape(piece));
  } catch {
    if (fatal) {
      throw new TypeError("the bytes are not UTF-8");
    }
    return decodeURIComponent(escape(piece.replace(/[\x80-\xff]+/g, repaired)));
  }
}

/** In place of the bytes that are no character, those of the one that stands for them: one for as many as begin the same character. */
function repaired(run) {
  let made = "";
  for (let at = 0; at < run.length; ) {
    const first = run.charCodeAt(at);
    const whole = at + (first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1);
    // With another second byte it would be longer than need be, a half of a character, or beyond all characters.
    let least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    let most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    let end = at + 1;
    for (; end < whole && run.charCodeAt(end) >= least && run.charCodeAt(end) <= most; end += 1) {
      least = 0x80;
      most = 0xbf;
    }
    made += end === whole && end - at > 1 ? run.slice(at, end) : "\xef\xbf\xbd";
    at = end;
  }
  return made;
}
