// Finds tools by words: those of their names count most, and words that few tools have count more than common ones (BM25,
// Robertson and Zaragoza 2009, without the length of documents).

const WEIGHTS = { name: 4, title: 2, description: 1, arguments: 1 };

/// The tools that match a query best, best first; for an empty query all of them, by name.
export function search(tools, query, limit) {
  const words = [...new Set(wordsOf(query))];
  if (words.length === 0) return byName(tools).slice(0, limit);
  const documents = tools.map((tool) => ({ tool, words: weighted(tool) }));
  const rarity = new Map(words.map((word) => {
    const having = documents.filter((document) => matching(document, word) > 0).length;
    return [word, Math.log(1 + (tools.length - having + 0.5) / (having + 0.5))];
  }));
  const score = (document) =>
    words.reduce((sum, word) => {
      const count = matching(document, word);
      return sum + (rarity.get(word) * count * 2.2) / (count + 1.2);
    }, 0);
  const scored = documents.map((document) => ({ tool: document.tool, score: score(document) }));
  const found = scored.filter(({ score }) => score > 0);
  found.sort((a, b) => b.score - a.score || compare(a.tool.name, b.tool.name));
  return found.slice(0, limit).map(({ tool }) => tool);
}

function weighted(tool) {
  const words = new Map();
  const parts = { name: tool.name, title: tool.title ?? "", description: tool.description, arguments: argumentsOf(tool) };
  for (const [part, text] of Object.entries(parts)) {
    for (const word of new Set(wordsOf(text))) words.set(word, (words.get(word) ?? 0) + WEIGHTS[part]);
  }
  return words;
}

function argumentsOf(tool) {
  try {
    return Object.keys(JSON.parse(tool.inputSchema).properties ?? {}).join(" ");
  } catch {
    return "";
  }
}

/// A word also matches one that it begins, at half the weight: `note` finds `notes`.
function matching({ words }, word) {
  const exact = words.get(word);
  if (exact) return exact;
  if (word.length < 3) return 0;
  let most = 0;
  for (const [other, weight] of words) {
    if (other.startsWith(word) || (other.length > 2 && word.startsWith(other))) most = Math.max(most, weight / 2);
  }
  return most;
}

/// `addNote` and `add_note` are two words each.
function wordsOf(text) {
  return String(text).replace(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byName = (tools) => [...tools].sort((a, b) => compare(a.name, b.name));
