/** How far back a page looks; the address holds it. */
import { setQuery } from "../core/route.js";
import { segments } from "./choices.js";

/** @type {readonly (readonly [string, string, number])[]} name, words, seconds */
const RANGES = [["1h", "1 h", 3600], ["24h", "24 h", 86400], ["7d", "7 d", 7 * 86400]];

/** @param {URLSearchParams} query @returns {{name: string, words: string, seconds: number}} */
export function rangeOf(query) {
  const [name, words, seconds] = RANGES.find(([known]) => known === query.get("range")) ?? RANGES[0];
  return { name, words, seconds };
}

/** @param {URLSearchParams} query @param {number} [mostS] the longest there is */
export const rangeChoice = (query, mostS = Infinity) =>
  segments(RANGES.filter(([, , seconds]) => seconds <= mostS).map(([name, words]) => /** @type {const} */ ([name, words])), rangeOf(query).name, (next) => setQuery({ range: next === "1h" ? null : next }), "Time range");
