/** A definition as YAML, as people write it: blocks, with quotes only where a plain word would mean something else. */

const PLAIN = /^[A-Za-z_/.][A-Za-z0-9_./+=@%-]*( [A-Za-z0-9_./+=@%-]+)*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n|\.inf|\.nan)$/i;
const AMOUNT = /^[0-9]+[A-Za-z]+$/;

/** @param {unknown} value */
export const yaml = (value) => `${block(value, "").replace(/^\n/, "")}\n`;

/** @param {unknown} value @param {string} indent @returns {string} what follows a key or a dash */
function block(value, indent) {
  if (Array.isArray(value)) {
    if (value.length === 0) return " []";
    if (value.every((one) => one === null || typeof one !== "object")) return ` [${value.map(inList).join(", ")}]`;
    return value.map((one) => `\n${indent}-${inItem(one, `${indent}  `)}`).join("");
  }
  if (value !== null && typeof value === "object") {
    const pairs = Object.entries(value);
    return pairs.length === 0 ? " {}" : pairs.map(([key, one]) => `\n${indent}${scalar(key)}:${block(one, `${indent}  `)}`).join("");
  }
  return ` ${scalar(value)}`;
}

/** The first pair stands behind the dash. @param {unknown} value @param {string} indent */
const inItem = (value, indent) => block(value, indent).replace(/^\n\s*/, " ");

/** @param {unknown} value */
const inList = (value) => (typeof value === "string" && !/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(value) ? JSON.stringify(value) : scalar(value));

/** @param {unknown} value */
export function scalar(value) {
  if (typeof value !== "string") return String(value);
  return (PLAIN.test(value) || AMOUNT.test(value)) && !WORDS.test(value) && !/^[0-9.]+e[0-9]+$/i.test(value) ? value : JSON.stringify(value);
}
