/** Bars: a share of a whole, parts of a whole, a heat strip, steps in time. */
import { html, nothing } from "../core/view.js";
import { clock, duration, percent } from "../core/format.js";
import { ramp } from "./scale.js";

/** How much of something is used; `second` is drawn behind the first. @param {number} share @param {string} label @param {number} [second] */
export const meter = (share, label, second = 0) =>
  html`<div class="meter" role="img" aria-label=${`${label}: ${percent(share)}`} title=${`${label}: ${percent(share)}`}><i .style=${`width:${clip(share + second)}%`} class="second"></i><i .style=${`width:${clip(share)}%`}></i></div>`;

/** @param {number} share */
const clip = (share) => Math.min(100, Math.max(0, share * 100));

/** Rows of cells over time: each cell a share from 0 to 1, or null. @param {{name: string, values: (number | null)[], href?: string}[]} rows @param {number[]} times @param {string} title */
export const heatStrip = (rows, times, title) =>
  html`<div class="heat" role="group" aria-label=${title}>
    ${rows.map(
      (row) => html`<div class="heat-row"><a class="soft" href=${row.href ?? nothing} title=${row.name}>${row.name}</a><span class="heat-cells">${row.values.map((value, place) => html`<i .style=${value === null ? "" : `background:${ramp(value)}`} title=${`${row.name}, ${clock(times[place])}: ${percent(value)}`}></i>`)}</span></div>`,
    )}
  </div>`;

/** Steps in time, one row each. @param {{name: string, kind: string, from: number, until: number | null, words?: string}[]} rows @param {string} title */
export function gantt(rows, title) {
  const begin = Math.min(...rows.map((row) => row.from));
  const end = Math.max(...rows.map((row) => row.until ?? Date.now() / 1000), begin + 1);
  const at = (/** @type {number} */ moment) => ((moment - begin) * 100) / (end - begin);
  return html`<div class="gantt" role="img" aria-label=${title}>
    ${rows.map((row) => {
      const until = row.until ?? end;
      const left = at(row.from);
      return html`<div class="gantt-row"><span class="soft">${row.name}</span><span class="gantt-track"><i class=${row.kind} .style=${`left:${left}%;width:${Math.max(0.5, at(until) - left)}%`} title=${`${clock(row.from)} – ${row.until === null ? "now" : clock(until)} (${duration(until - row.from)})`}></i></span><span class="soft">${row.words ?? duration(until - row.from)}</span></div>`;
    })}
    <div class="gantt-row faint"><span></span><span class="x-axis"><span>${clock(begin)}</span><span>${clock(end)}</span></span><span></span></div>
  </div>`;
}
