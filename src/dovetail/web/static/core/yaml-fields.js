/** Reads and writes single fields of a YAML text and leaves all other lines, with their comments, as they are.
 *
 * It knows blocks of `key: value` lines only, which is how people write definitions. Whatever is written another way is
 * said to be so, and is edited as text: the only reader of YAML is the server.
 */

/** @typedef {{value: string | null, isSimple: boolean}} Field `value`: as written, null if it is not there */

/** @param {string} line */
const indentOf = (line) => line.length - line.trimStart().length;
/** @param {string} line */
const isEmpty = (line) => line.trim() === "" || line.trim().startsWith("#");
/** The value of a line without a comment behind it. @param {string} value */
const withoutComment = (value) => (/^["'[{]/.test(value.trim()) ? value.replace(/(["'\]}])\s+#.*$/, "$1") : value.replace(/\s+#.*$/, "")).trim();

/** @param {string[]} lines @param {number} from @param {number} indent @returns {number} where the block of that indent ends */
function endOf(lines, from, indent) {
  let end = from;
  for (let at = from; at < lines.length; at += 1) {
    if (isEmpty(lines[at])) continue;
    if (indentOf(lines[at]) < indent) break;
    end = at + 1;
  }
  return end;
}

/** @typedef {{at: number, indent: number, value: string, inside: [number, number], isSimple: boolean}} Place */

/** @param {string[]} lines @param {string[]} path @returns {Place | null} */
function find(lines, path) {
  let [from, to] = [0, lines.length];
  /** @type {Place | null} */
  let found = null;
  for (const key of path) {
    if (found && !found.isSimple) return found;
    const first = lines.slice(from, to).find((line) => !isEmpty(line));
    if (first === undefined) return null;
    const indent = indentOf(first);
    const at = lines.findIndex((line, place) => place >= from && place < to && indentOf(line) === indent && line.slice(indent).startsWith(`${key}:`));
    if (at < 0) return null;
    const value = withoutComment(lines[at].slice(indent + key.length + 1));
    const end = endOf(lines, at + 1, indent + 1);
    found = { at, indent, value, inside: [at + 1, end], isSimple: key === path.at(-1) ? end === at + 1 && !/^[{|>&*!]/.test(value) : value === "" };
    [from, to] = found.inside;
  }
  return found;
}

/** @param {string} text @param {string[]} path @returns {Field} */
export function fieldIn(text, path) {
  const found = find(text.split("\n"), path);
  if (found === null) return { value: null, isSimple: true };
  return { value: found.isSimple ? found.value : null, isSimple: found.isSimple };
}

/** The text with this value at the path; null takes it away, and its parent if nothing else is in it.
 * @param {string} text @param {string[]} path @param {string | null} value as it is written in YAML @returns {string} */
export function withField(text, path, value) {
  const lines = text.replace(/\n+$/, "").split("\n");
  if (lines.length === 1 && lines[0] === "") lines.pop();
  const found = find(lines, path);
  if (found && !found.isSimple) return text;
  const key = path.at(-1) ?? "";
  if (value === null) {
    if (found === null) return text;
    lines.splice(found.at, 1);
    const shorter = lines.length ? `${lines.join("\n")}\n` : "";
    const parent = path.slice(0, -1);
    const around = parent.length ? find(shorter.split("\n"), parent) : null;
    return around && around.value === "" && around.inside[0] === around.inside[1] ? withField(shorter, parent, null) : shorter;
  }
  if (found) {
    const comment = lines[found.at].match(/\s+#[^"']*$/)?.[0] ?? "";
    lines[found.at] = `${" ".repeat(found.indent)}${key}: ${value}${comment}`;
    return `${lines.join("\n")}\n`;
  }
  const parent = path.slice(0, -1);
  if (parent.length === 0) return `${[...lines, `${key}: ${value}`].join("\n")}\n`;
  const around = find(lines, parent);
  if (around === null) return withField(`${[...lines, `${parent.join(": ")}:`].join("\n")}\n`, path, value);
  if (around.value !== "") return text;
  const first = lines.slice(...around.inside).find((line) => !isEmpty(line));
  const indent = first === undefined ? around.indent + 2 : indentOf(first);
  lines.splice(around.inside[1], 0, `${" ".repeat(indent)}${key}: ${value}`);
  return `${lines.join("\n")}\n`;
}

/** The text with a JSON merge patch; null where a field that it changes is written another way.
 * @param {string} text @param {Record<string, any>} patch @param {string[]} [path] @returns {string | null} */
export function withPatch(text, patch, path = []) {
  /** @type {string | null} */
  let found = text;
  for (const [key, value] of Object.entries(patch)) {
    if (found === null) return null;
    const here = [...path, key];
    if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length) found = withPatch(found, value, here);
    else found = fieldIn(found, here).isSimple ? withField(found, here, value === null ? null : JSON.stringify(value)) : null;
  }
  return found;
}

/** What a plain, quoted or listed value means to somebody who fills in a form. @param {string} written */
export function unquoted(written) {
  if (written.startsWith('"')) {
    try {
      return String(JSON.parse(written));
    } catch {
      return written;
    }
  }
  return written.startsWith("'") && written.endsWith("'") ? written.slice(1, -1).replaceAll("''", "'") : written;
}

/** The words of a list in one line, `[a, "b c"]`. @param {string} written @returns {string[]} */
export function listed(written) {
  const inner = written.replace(/^\[/, "").replace(/\]$/, "");
  return [...inner.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+/g)].map((match) => unquoted(match[0].trim())).filter((word) => word !== "");
}

/** The words of a command line. @param {string} line @returns {string[]} */
export const shellWords = (line) => [...line.matchAll(/(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/g)].map((match) => match[0].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double, single) => (double === undefined ? single : double.replace(/\\(["\\])/g, "$1"))));

/** A command line with these words. @param {string[]} words */
export const shellLine = (words) => words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
