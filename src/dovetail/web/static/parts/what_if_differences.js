/** Two futures beside each other: what would start, wait, move, be preempted, and how full the cluster would be. */
import { html, nothing } from "../core/view.js";
import { count, duration, number, percent, time } from "../core/format.js";
import { nodeLink, workloadLink } from "./badge.js";
import { exportButtons, table } from "./table.js";

/** @typedef {import("../types").Schemas["WhatIfAnswer"]} WhatIfAnswer */
/** @typedef {import("../types").Schemas["ChangedWorkload"]} ChangedWorkload */
/** @typedef {import("../types").Schemas["MovedTask"]} MovedTask */

/** @param {number | null} seconds */
const starts = (seconds) => (seconds === null ? html`<span class="soft">not by then</span>` : seconds <= 0 ? "now" : `in ${duration(seconds)}`);

/** @type {import("./table.js").Column<ChangedWorkload & {why?: string}>[]} */
const CHANGED = [
  { name: "workload", title: "Workload", cell: (row) => workloadLink(row), value: (row) => `${row.namespace}/${row.name}` },
  { name: "before_s", title: "Before", isNumber: true, cell: (row) => starts(row.before_s), value: (row) => row.before_s },
  { name: "after_s", title: "After", isNumber: true, cell: (row) => starts(row.after_s), value: (row) => row.after_s },
  { name: "why", title: "", wraps: true, cell: (row) => row.why ?? nothing, value: (row) => row.why },
];

/** @type {import("./table.js").Column<MovedTask>[]} */
const MOVED = [
  { name: "task", title: "Task", cell: (row) => workloadLink(row, `${row.namespace}/${row.name}.${row.replica}`), value: (row) => `${row.namespace}/${row.name}.${row.replica}` },
  { name: "from", title: "Before", cell: (row) => nodeLink(row.from), value: (row) => row.from },
  { name: "to", title: "After", cell: (row) => nodeLink(row.to), value: (row) => row.to },
  { name: "at_s", title: "When", isNumber: true, cell: (row) => starts(row.at_s), value: (row) => row.at_s },
];

/** Without its start, which may be long ago. */
const PREEMPTED = CHANGED.filter((column) => column.name === "workload" || column.name === "why");

/** @param {string} title @param {{count: number, items: (ChangedWorkload & {why?: string})[]}} part @param {string} kind @param {typeof CHANGED} [columns] */
function changed(title, part, kind, columns = part.items.some((row) => row.why) ? CHANGED : CHANGED.slice(0, 3)) {
  if (!part.count) return nothing;
  return html`<div class="panel"><div class="head"><h2>${title} <small class=${kind}>${count(part.count)}</small></h2><div class="actions">${exportButtons(columns, () => part.items, title.toLowerCase().replaceAll(" ", "-"))}</div></div>
    ${table({ columns, rows: part.items, key: (row) => row.id, caption: title })}
    ${part.count > part.items.length ? html`<p class="soft">and ${count(part.count - part.items.length)} more</p>` : nothing}</div>`;
}

/** Name, title, how it is written. The use of CPUs and GPUs is among the shares already. @type {[string, string, (value: number) => string][]} */
const FIGURES = [
  ["mean_wait_s", "Mean wait", duration],
  ["median_wait_s", "Median wait", duration],
  ["p95_wait_s", "95 % wait at most", duration],
  ["max_wait_s", "Longest wait", duration],
  ["mean_slowdown", "Mean slowdown", (value) => `${number(value)} ×`],
  ["p95_slowdown", "95 % slowed down at most", (value) => `${number(value)} ×`],
  ["fragmentation", "GPUs that are free and of no use", (value) => percent(value, 1)],
  ["traffic_s", "All-reduce of 1 GiB, mean of gangs", duration],
  ["traffic_times_best", "All-reduce, against the best place", (value) => `${number(value)} ×`],
  ["fairness", "Fairness between tenants, at most 1", number],
  ["preemptions", "Preemptions", count],
  ["ended", "Workloads that end", count],
  ["failed", "Workloads that fail", count],
  ["unplaced", "Workloads without a node", count],
  ["makespan_s", "Until the last one ends", duration],
];

/** @param {WhatIfAnswer} answer */
function figures(answer) {
  const { before, after, differences: found } = answer;
  /** @type {{name: string, before: string, after: string}[]} */
  const rows = [
    { name: "Profile", before: before.profile, after: after.profile },
    { name: "Workloads", before: count(before.workloads), after: count(after.workloads) },
    { name: "Waiting at the end", before: count(before.waiting_at_the_end), after: count(after.waiting_at_the_end) },
    ...Object.entries(found.utilisation).map(([name, share]) => ({ name: `${name} in use`, before: percent(share.before, 1), after: percent(share.after, 1) })),
    ...FIGURES.map(([name, title, words]) => ({ name: title, before: figure(before.figures[name], words), after: figure(after.figures[name], words) })),
  ].filter((row) => row.before !== row.after);
  if (!rows.length) return nothing;
  return html`<div class="panel"><h2>Figures <small>those that differ</small></h2>${table({ columns: [{ name: "name", title: "", cell: (row) => row.name, value: (row) => row.name }, { name: "before", title: "Before", isNumber: true, cell: (row) => row.before, value: (row) => row.before }, { name: "after", title: "After", isNumber: true, cell: (row) => html`<b>${row.after}</b>`, value: (row) => row.after }], rows, key: (row) => row.name, caption: "Before and after" })}</div>`;
}

/** @param {number | null | undefined} value @param {(value: number) => string} words */
const figure = (value, words) => (value === null || value === undefined ? "–" : words(value));

/** @param {WhatIfAnswer} answer */
export function differences(answer) {
  const found = answer.differences;
  const parts = [found.started, found.delayed, found.moved, found.unplaced, found.preempted];
  return html`<div class="panel"><h2>The answer <small>the next ${duration(answer.horizon_s)}, from ${time(answer.taken_at)}</small></h2>
      <ul class="plain answer">${answer.sentences.map((words) => html`<li>${words}</li>`)}</ul>
      ${parts.every((one) => !one.count) && !found.placed_elsewhere ? html`<p class="soft">No workload starts, waits or runs differently.</p>` : nothing}
      ${found.placed_elsewhere ? html`<p class="soft">${count(found.placed_elsewhere)} waiting tasks would get another node.</p>` : nothing}</div>
    ${changed("Would find no node", found.unplaced, "bad")}${changed("Would start later", found.delayed, "warn")}${changed("Would be preempted", found.preempted, "warn", PREEMPTED)}${changed("Would start sooner", found.started, "ok")}
    ${found.moved.count ? html`<div class="panel"><div class="head"><h2>Would move <small>${count(found.moved.count)}</small></h2><div class="actions">${exportButtons(MOVED, () => found.moved.items, "moved")}</div></div>${table({ columns: MOVED, rows: found.moved.items, key: (row) => `${row.id}.${row.replica}`, caption: "Would move" })}${found.moved.count > found.moved.items.length ? html`<p class="soft">and ${count(found.moved.count - found.moved.items.length)} more</p>` : nothing}</div>` : nothing}
    ${figures(answer)}`;
}
