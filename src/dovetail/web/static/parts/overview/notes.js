/** Notes of the history as marks in charts, and what they say below. */
import { html, nothing } from "../../core/view.js";
import { clock, count } from "../../core/format.js";

/** @typedef {import("../../types").Schemas["HistoryRow"]} HistoryRow */
/** @typedef {import("../../charts/lines.js").Mark} Mark */

const SHOWN = 6;

/** @param {HistoryRow[]} rows @param {number[]} times of the chart: from the first to the last @returns {HistoryRow[]} */
const within = (rows, times) => (times.length < 2 ? [] : rows.filter((row) => row.at >= times[0] && row.at <= Math.max(times[times.length - 1], Date.now() / 1000)));

/** @param {HistoryRow[]} rows @param {number[]} times @returns {Mark[]} */
export function marksOf(rows, times) {
  const [first, last] = [times[0], times[times.length - 1]];
  return within(rows, times).map((row) => ({ x: Math.min(1, (row.at - first) / (last - first)), words: `${clock(row.at)} ${row.message}` }));
}

/** @param {HistoryRow[]} rows newest first @param {number[]} times */
export function noteLegend(rows, times) {
  const shown = within(rows, times);
  if (shown.length === 0) return nothing;
  return html`<p class="legend notes" aria-label="Notes"><b><i class="note-mark"></i>notes</b>
    ${shown.slice(0, SHOWN).map((row) => html`<span class="wrap"><span class="faint">${clock(row.at)}</span> ${row.message}</span>`)}
    <a class="link" href="/events?kind=note">${shown.length > SHOWN ? `${count(shown.length - SHOWN)} more` : "all"}</a></p>`;
}
