/** What happened, newest first, and what happens: by kind, workload, node and words. */
import { html, nothing } from "../core/view.js";
import { Problem, getShared } from "../core/api.js";
import { definePage } from "../core/page.js";
import { setQuery } from "../core/route.js";
import { count, time } from "../core/format.js";
import { connection } from "../core/live.js";
import { nodeLink, state, workloadLink } from "../parts/badge.js";
import { searchField } from "../parts/choices.js";
import { empty } from "../parts/states.js";
import { exportButtons, table } from "../parts/table.js";

/** @typedef {import("../types").Schemas["HistoryRow"]} HistoryRow */
/** @typedef {{rows: HistoryRow[], cursor: number | null, searched: number, missing: string}} Data */

const KINDS = ["submitted", "waiting", "placed", "bound", "running", "succeeded", "failed", "cancelled", "stopping", "preempted", "pending", "lost", "node", "backend", "policy", "recovery", "budget", "note"];
const PAGE = 100;
const SEARCHED_AT_ONCE = 1000; // the server knows no search in messages: so many are looked through here
const MOST_SEARCHED = 5000;

let restMs = 1000; // between two looks: longer where the server takes long to answer
/** The number of the newest event at the last look. */
let newest = 0;

/** @param {HistoryRow} row */
function about(row) {
  if (row.workload !== null) {
    const task = row.replica === null ? "" : `.${row.replica}`;
    return row.name === null || row.namespace === null ? `workload ${row.workload}${task}` : workloadLink({ namespace: row.namespace, name: row.name }, `${row.namespace}/${row.name}${task}`);
  }
  return row.node ? nodeLink(row.node) : row.backend ? html`<a class="link" href=${`/backends?name=${encodeURIComponent(row.backend)}`}>${row.backend}</a>` : html`<span class="faint">–</span>`;
}

/** @type {import("../parts/table.js").Column<HistoryRow>[]} */
const COLUMNS = [
  { name: "time", title: "Time", cell: (row) => html`<span class="soft">${time(row.at)}</span>`, value: (row) => row.at },
  { name: "kind", title: "Kind", cell: (row) => state(row.kind), value: (row) => row.kind },
  { name: "about", title: "About", cell: about, value: (row) => (row.name === null ? (row.node ?? row.backend) : `${row.namespace}/${row.name}`) },
  { name: "node", title: "Node", cell: (row) => (row.node ? nodeLink(row.node) : html`<span class="faint">–</span>`), value: (row) => row.node },
  { name: "message", title: "What happened", cell: (row) => row.message, value: (row) => row.message, wraps: true },
];

/** @param {URLSearchParams} query */
function filterOf(query) {
  const [namespace, name] = (query.get("workload") ?? "").split("/");
  return { kind: query.getAll("kind").flatMap((kinds) => kinds.split(",")).filter(Boolean), workload: name ?? namespace, namespace: name ? namespace : undefined, node: query.get("node"), backend: query.get("backend"), newest: true };
}

/** @param {HistoryRow} row @param {string} text in lower case */
const has = (row, text) => [row.message, row.name, row.node, row.kind].some((words) => words?.toLowerCase().includes(text));

/** A page of events; with words, as many as it takes to find a page of those that have them.
 * @param {URLSearchParams} query @param {AbortSignal} signal @returns {Promise<Data>} */
async function find(query, signal) {
  const text = (query.get("search") ?? "").toLowerCase();
  let before = Number(query.get("before")) || undefined;
  /** @type {HistoryRow[]} */
  const rows = [];
  let searched = 0;
  for (;;) {
    const limit = text ? SEARCHED_AT_ONCE : PAGE;
    const page = await getShared(restMs > 1000 ? 1 : 0, "/events", { ...filterOf(query), before, limit }, signal);
    searched += page.items.length;
    rows.push(...(text ? page.items.filter((/** @type {HistoryRow} */ row) => has(row, text)) : page.items));
    before = page.cursor ?? undefined;
    const isEnd = page.items.length < limit || before === undefined;
    if (!text || rows.length >= PAGE || isEnd || searched >= MOST_SEARCHED) return { rows, cursor: isEnd ? null : (before ?? null), searched: text ? searched : 0, missing: "" };
  }
}

/** @param {URLSearchParams} query */
function kinds(query) {
  const chosen = new Set(filterOf(query).kind);
  const toggle = (/** @type {string} */ kind) => {
    if (!chosen.delete(kind)) chosen.add(kind);
    setQuery({ kind: [...chosen].join(","), before: null });
  };
  return html`<div class="tools" role="group" aria-label="Kinds">${KINDS.map((kind) => html`<button class="chip" aria-pressed=${String(chosen.has(kind))} @click=${() => toggle(kind)}>${kind}</button>`)}</div>`;
}

/** @param {string} name of the parameter @param {string} label @param {URLSearchParams} query */
function field(name, label, query) {
  const changed = (/** @type {Event} */ event) => setQuery({ [name]: /** @type {HTMLInputElement} */ (event.target).value.trim(), before: null });
  return html`<input type="text" size="24" aria-label=${label} placeholder=${label} .value=${query.get(name) ?? ""} @change=${changed} />`;
}

export default definePage({
  title: () => "Events",
  /** Live where the newest are shown; a page of the past stays as it is. */
  follows: (event, route) => {
    const { kind, node } = filterOf(route.query);
    return !route.query.has("before") && (!kind.length || kind.includes(event.kind)) && (!node || event.node === node);
  },
  everyS: 5, // a shared answer may be older than the last event
  get atMostEveryMs() {
    return restMs;
  },
  load: async ({ route, signal }) => {
    const began = performance.now();
    try {
      const found = await find(route.query, signal);
      const isStorm = newest > 0 && found.rows.length >= PAGE && found.rows[found.rows.length - 1].seq > newest; // nobody reads that fast
      newest = found.rows[0]?.seq ?? 0;
      restMs = Math.min(5000, Math.max(isStorm ? 3000 : 1000, 20 * (performance.now() - began)));
      return found;
    } catch (error) {
      if (!(error instanceof Problem) || ![404, 409, 422].includes(error.status)) throw error;
      return { rows: [], cursor: null, searched: 0, missing: error.message };
    }
  },
  view: (/** @type {Data} */ data, { route }) => {
    const query = route.query;
    const isPast = query.has("before");
    const isFiltered = ["kind", "workload", "node", "backend", "search"].some((name) => query.has(name));
    const nothingHere = data.missing
      ? empty("No such workload", data.missing)
      : isFiltered
        ? empty("Nothing like that happened", html`<button class="btn" @click=${() => setQuery({ kind: null, workload: null, node: null, backend: null, search: null, before: null })}>Show all events</button>`)
        : empty("Nothing happened yet", "Submit something:", "dovetail submit --name hello -- echo hello");
    const lead = isPast ? "Of the past." : connection() === "live" ? "Newest first, as they happen." : "Newest first.";
    return html`<h1>Events</h1>
      <p class="lead">${lead} In a terminal: <code>dovetail events --follow</code></p>
      <section class="panel">
        <div class="tools">${searchField(query.get("search") ?? "", (text) => setQuery({ search: text, before: null }), "Words")}${field("workload", "Workload: namespace/name", query)}${field("node", "Node", query)}<span class="grow"></span>${exportButtons(COLUMNS, () => data.rows, "events")}</div>
        ${kinds(query)} ${table({ columns: COLUMNS, rows: data.rows, key: (row) => row.seq, caption: "Events", empty: nothingHere })}
        ${data.searched ? html`<p class="soft">Looked through the latest ${count(data.searched)} events.</p>` : nothing}
        <div class="tools after">
          ${isPast ? html`<button class="btn" @click=${() => setQuery({ before: null }, { push: true })}>Newest</button>` : nothing}
          ${data.cursor === null ? nothing : html`<button class="btn" @click=${() => setQuery({ before: data.cursor }, { push: true })}>Earlier</button>`}
        </div>
      </section>`;
  },
});
