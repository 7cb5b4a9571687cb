/** What changed in the last hour: equal things once, with how many there were. */
import { html, nothing } from "../../core/view.js";
import { address } from "../../core/api.js";
import { ago, count } from "../../core/format.js";

/** @typedef {import("../../types").Schemas["HistoryRow"]} HistoryRow */
/** @typedef {{kind: string, words: string, rows: HistoryRow[]}} Change */

export const CHANGES = ["note", "node", "policy", "recovery", "backend", "budget", "failed", "preempted", "stopping", "lost"];
const FIRST = 10;

/** Without what differs from one to the next. @param {HistoryRow} row */
function alike(row) {
  let words = row.message;
  for (const name of [row.node, row.name]) if (name) words = words.replaceAll(name, "…");
  return words.replace(/preempted by .*/, "preempted").replace(/\d+(\.\d+)?/g, "…");
}

/** @param {HistoryRow[]} rows newest first @returns {Change[]} */
function grouped(rows) {
  /** @type {Map<string, Change>} */
  const found = new Map();
  for (const row of rows) {
    if (row.kind === "failed" && row.replica !== null) continue; // the workload's own line says it
    const key = `${row.kind} ${alike(row)}`;
    const group = found.get(key) ?? { kind: row.kind, words: alike(row), rows: [] };
    group.rows.push(row);
    found.set(key, group);
  }
  return [...found.values()];
}

/** @param {HistoryRow} row */
const aboutOne = (row) => address("/events", { kind: row.kind, node: row.node, workload: row.name === null ? null : `${row.namespace}/${row.name}` });

/** @param {Change} change */
function line(change) {
  const [first] = change.rows;
  const many = change.rows.length;
  const same = change.rows.every((row) => row.message === first.message);
  const words = same ? first.message : change.words.replace(/^node …/, "nodes").replace(/^workload /, "workloads ");
  return html`<div class="change">
    <span class="tag">${change.kind}</span>
    <a class="wrap" href=${many === 1 ? aboutOne(first) : address("/events", { kind: change.kind })}>${many === 1 ? nothing : html`<b>${count(many)} ×</b> `}${words}</a>
    <span class="soft nowrap">${ago(first.at)}</span>
  </div>`;
}

/** @param {HistoryRow[]} rows newest first @param {boolean} isCut there were more */
export function changesPanel(rows, isCut) {
  const groups = grouped(rows);
  return html`<section class="panel" aria-label="What changed in the last hour">
    <h2>What changed in the last hour<small>${isCut ? `the latest ${count(rows.length)} changes` : ""}</small></h2>
    ${groups.length ? groups.slice(0, FIRST).map(line) : html`<p class="soft">No node, rule or backend changed, and nothing failed.</p>`}
    <p class="after"><a class="link" href="/events">${groups.length > FIRST ? `${count(groups.length - FIRST)} more kinds of change; all` : "All"} events</a></p>
  </section>`;
}
