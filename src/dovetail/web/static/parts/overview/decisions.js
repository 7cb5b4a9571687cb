/** The latest decisions, each in one sentence. */
import { html, nothing } from "../../core/view.js";
import { number, plural, time } from "../../core/format.js";
import { nodeLink, workloadLink } from "../badge.js";
import { exportButtons, table } from "../table.js";

/** @typedef {import("../../types").Schemas["RecentDecision"]} RecentDecision */

/** @param {RecentDecision} one */
function where(one) {
  const [first] = one.nodes;
  if (one.outcome !== "placed" || first === undefined) return html`<span class="warn">${one.outcome}</span>`;
  return html`${nodeLink(first)}${one.tasks > 1 ? html` <span class="tag">${plural(one.tasks, "task")}</span>` : nothing}`;
}

/** @type {import("../table.js").Column<RecentDecision>[]} */
export const DECISIONS = [
  { name: "time", title: "Time", cell: (one) => html`<span class="soft">${time(one.at)}</span>`, value: (one) => one.at },
  { name: "workload", title: "Workload", cell: (one) => workloadLink(one), value: (one) => `${one.namespace}/${one.name}` },
  { name: "placed_on", title: "Placed on", cell: where, value: (one) => one.nodes.join(" ") || one.outcome },
  { name: "score", title: "Score", cell: (one) => (one.score === null ? html`<span class="faint">–</span>` : one.score.toFixed(2)), value: (one) => one.score, isNumber: true },
  { name: "why", title: "Why", cell: (one) => html`<span class="soft">${one.why}</span>`, value: (one) => one.why, wraps: true },
  { name: "took_ms", title: "Took", cell: (one) => (one.took_ms === null ? html`<span class="faint">–</span>` : `${number(one.took_ms)} ms`), value: (one) => one.took_ms, isNumber: true },
];

/** @param {RecentDecision[]} rows */
export const decisionsPanel = (rows) => html`<section class="panel" aria-label="Last decisions">
  <div class="tools slim"><h2 class="title grow">Last decisions</h2>${exportButtons(DECISIONS, () => rows, "decisions")}</div>
  ${table({ columns: DECISIONS, rows, key: (one) => `${one.at} ${one.workload} ${one.replica}`, caption: "The latest decisions about any workload", empty: html`<p class="soft">Nothing was decided yet.</p>` })}
</section>`;
