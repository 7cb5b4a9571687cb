/** Windows in time: one row each, with the present marked. */
import { html } from "../core/view.js";
import { clock, duration } from "../core/format.js";

/** @typedef {{name: string, href?: string, kind: string, windows: [number, number][], words: string}} WindowRow */

/** @param {WindowRow[]} rows @param {number} from @param {number} until @param {string} title */
export function windows(rows, from, until, title) {
  const at = (/** @type {number} */ moment) => Math.min(100, Math.max(0, ((moment - from) * 100) / (until - from)));
  const now = at(Date.now() / 1000);
  return html`<div class="gantt" role="group" aria-label=${title}>
    ${rows.map(
      (row) => html`<div class="gantt-row"><a class="link cut" href=${row.href ?? "#"}>${row.name}</a><span class="gantt-track">${row.windows
        .filter(([start, end]) => end > from && start < until)
        .map(([start, end]) => html`<i class=${row.kind} .style=${`left:${at(start)}%;width:${Math.max(0.5, at(end) - at(start))}%`} title=${`${clock(start)} – ${clock(end)} (${duration(end - start)})`}></i>`)}<b class="now" .style=${`left:${now}%`}></b></span><span class="soft cut">${row.words}</span></div>`,
    )}
    <div class="gantt-row faint"><span></span><span class="x-axis"><span>${clock(from)}</span><span>${clock(until)}</span></span><span></span></div>
  </div>`;
}
