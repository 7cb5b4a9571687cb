/** The colours of YAML: what of a line is a key, a text, a number or a comment. */
import { html } from "../core/view.js";

const TOKEN = /(#.*$)|("(?:[^"\\]|\\.)*"|'[^']*')|([A-Za-z_][\w./-]*)(?=\s*:(?:\s|$))|\b(true|false|null)\b|(?<![\w.-])(-?\d[\w.]*)|([-:[\]{},])/g;
const KINDS = ["comment", "text", "key", "word", "number", "sign"];

/** @param {string} line */
export function coloured(line) {
  const parts = [];
  let from = 0;
  for (const match of line.matchAll(TOKEN)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    if (kind === "comment" && match.index > 0 && !/\s/.test(line[match.index - 1])) continue;
    parts.push(line.slice(from, match.index), html`<span class=${`y-${kind}`}>${match[0]}</span>`);
    from = match.index + match[0].length;
  }
  parts.push(line.slice(from));
  return parts;
}
