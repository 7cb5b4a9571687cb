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

/** What is shown of a server that has not recorded so long yet. @type {readonly (readonly [number, string])[]} */
const SHORTER = [[300, "5 min"], [900, "15 min"], [1800, "30 min"], [3600, "1 h"], [4 * 3600, "4 h"], [12 * 3600, "12 h"], [86400, "24 h"], [3 * 86400, "3 d"]];

/** The chosen range, or as much of it as was recorded. @param {URLSearchParams} query @param {number} since when recording began, in seconds; 0 if that is not known
 * @returns {{words: string, seconds: number}} */
export function recordedRange(query, since) {
  const chosen = rangeOf(query);
  const recorded = Date.now() / 1000 - since;
  const shorter = SHORTER.find(([seconds]) => recorded <= seconds && seconds < chosen.seconds);
  return shorter ? { seconds: shorter[0], words: shorter[1] } : chosen;
}

/** @param {URLSearchParams} query @param {number} [mostS] the longest there is */
export const rangeChoice = (query, mostS = Infinity) =>
  segments(RANGES.filter(([, , seconds]) => seconds <= mostS).map(([name, words]) => /** @type {const} */ ([name, words])), rangeOf(query).name, (next) => setQuery({ range: next === "1h" ? null : next }), "Time range");
