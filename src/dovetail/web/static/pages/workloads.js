/** All workloads: how many in each state, a table that the server filters, sorts and pages, and cancelling many at once. */
import { html, live, nothing } from "../core/view.js";
import { get, send } from "../core/api.js";
import { ago, clock, count, duration, plural } from "../core/format.js";
import { attempt, confirm } from "../core/notices.js";
import { definePage } from "../core/page.js";
import { pageOf, setQuery } from "../core/route.js";
import { state as stateWord, workloadLink } from "../parts/badge.js";
import { searchField } from "../parts/choices.js";
import { columnChooser } from "../parts/columns.js";
import { empty } from "../parts/states.js";
import { exportButtons, pager, table } from "../parts/table.js";

/** @typedef {import("../types").Schemas["WorkloadRow"]} WorkloadRow */
/** @typedef {import("../types").Schemas["WorkloadPage"]} WorkloadPage */
/** @typedef {import("../core/page.js").Context} Context */
/** @typedef {{page: WorkloadPage, namespaces: string[], queues: string[]}} Data */

const LIMIT = 50;
const MOST_EXPORTED = 1000; // rows of one request
const STATES = ["pending", "starting", "running", "succeeded", "failed", "cancelled"];
const USUAL = ["name", "state", "tasks", "priority", "queue", "submitted", "ran", "why"];

/** @param {WorkloadRow} row */
const ranS = (row) => row.ran_s + (row.running_since ? Math.max(0, Date.now() / 1000 - row.running_since) : 0);
/** Until it started, or until now. @param {WorkloadRow} row */
const waitedS = (row) => (row.started_at ?? row.finished_at ?? Date.now() / 1000) - row.submitted_at;

/** @type {import("../parts/table.js").Column<WorkloadRow>[]} */
const COLUMNS = [
  { name: "id", title: "Id", cell: (row) => row.id, value: (row) => row.id, isNumber: true },
  { name: "name", title: "Name", cell: (row) => workloadLink(row), value: (row) => `${row.namespace}/${row.name}`, sorts: true },
  { name: "state", title: "State", cell: (row) => stateWord(row.state), value: (row) => row.state, sorts: true },
  { name: "tasks", title: "Tasks", cell: tasksOf, value: (row) => row.replicas, isNumber: true },
  { name: "kind", title: "Kind", cell: (row) => row.kind, value: (row) => row.kind },
  { name: "priority", title: "Priority", cell: (row) => row.priority, value: (row) => row.priority, sorts: true },
  { name: "queue", title: "Queue", cell: (row) => (row.queue ? html`<a class="link" href=${pageOf.queue(row.queue)}>${row.queue}</a>` : "–"), value: (row) => row.queue, sorts: true },
  { name: "user", title: "User", cell: (row) => row.user ?? "–", value: (row) => row.user },
  { name: "submitted", title: "Submitted", cell: (row) => ago(row.submitted_at), value: (row) => row.submitted_at, sorts: true },
  { name: "wait", title: "Waited", cell: (row) => duration(waitedS(row)), value: waitedS, isNumber: true, sorts: true },
  { name: "ran", title: "Ran", cell: (row) => (row.started_at ? duration(ranS(row)) : "–"), value: ranS, isNumber: true },
  { name: "why", title: "Why", cell: (row) => html`<span class="soft">${row.message}</span>`, value: (row) => row.message, wraps: true },
];

/** Of all its tasks those that have a node, or have ended well. @param {WorkloadRow} row */
function tasksOf(row) {
  const done = row.finished_at === null ? row.active : row.succeeded;
  const failed = row.failed ? html` <span class="bad" title=${plural(row.failed, "failed task")}>×${count(row.failed)}</span>` : nothing;
  return html`${count(done)}<span class="faint">/${count(row.replicas)}</span>${failed}`;
}

/** What the address asks the server for. @param {URLSearchParams} query */
const wanted = (query) => ({
  state: query.get("state"),
  namespace: query.get("namespace"),
  queue: query.get("queue"),
  search: query.get("search"),
  sort: query.get("sort"),
});

/** Every workload that the address means. @param {URLSearchParams} query @param {boolean} [unfinished] */
async function everyOne(query, unfinished) {
  /** @type {WorkloadRow[]} */
  const found = [];
  for (let offset = 0; ; offset += MOST_EXPORTED) {
    /** @type {WorkloadPage} */
    const page = await get("/workloads", { ...wanted(query), unfinished, limit: MOST_EXPORTED, offset, counts: false });
    found.push(...page.items);
    if (page.items.length < MOST_EXPORTED) return found;
  }
}

/** @param {number[]} ids @param {string} what @param {Context} context */
async function cancelThese(ids, what, context) {
  if (ids.length === 0) return;
  const sure = await confirm(`Cancel ${what}?`, "Pending tasks are dropped, running tasks are stopped. Work that has ended stays as it is.", `Cancel ${plural(ids.length, "workload")}`);
  if (!sure) return;
  await attempt(() => send("POST", "/workloads/cancel", { ids, reason: "cancelled from the dashboard" }), (answer) => `Cancelled ${plural(answer.workloads.length, "workload")}`);
  setQuery({ pick: null });
  context.reload();
}

/** @param {string} label @param {string} name @param {string[]} options @param {URLSearchParams} query */
const choice = (label, name, options, query) => {
  const chosen = query.get(name) ?? "";
  const known = chosen && !options.includes(chosen) ? [chosen, ...options] : options;
  return html`<select aria-label=${label} .value=${live(chosen)} @change=${(/** @type {Event} */ event) => setQuery({ [name]: /** @type {HTMLSelectElement} */ (event.target).value, offset: null })}>
    <option value="">${label}: all</option>
    ${known.map((one) => html`<option value=${one} ?selected=${one === chosen}>${one}</option>`)}
  </select>`;
};

/** @param {WorkloadPage} page @param {URLSearchParams} query */
function chips(page, query) {
  const counts = page.counts ?? {};
  const chosen = (query.get("state") ?? "").split(",").filter(Boolean);
  const all = STATES.reduce((sum, word) => sum + (counts[word] ?? 0), 0);
  const toggle = (/** @type {string} */ word) => setQuery({ state: (chosen.includes(word) ? chosen.filter((one) => one !== word) : [...chosen, word]).join(","), offset: null });
  return html`<div class="tools" role="group" aria-label="States">
    <button class="chip" aria-pressed=${String(chosen.length === 0)} @click=${() => setQuery({ state: null, offset: null })}>all ${count(all)}</button>
    ${STATES.map((word) => html`<button class="chip" aria-pressed=${String(chosen.includes(word))} @click=${() => toggle(word)}>${stateWord(word)} ${count(counts[word] ?? 0)}</button>`)}
  </div>`;
}

/** @param {Data} data @param {Context} context */
function bulk({ page }, context) {
  const { query } = context.route;
  const picked = new Set((query.get("pick") ?? "").split(",").filter(Boolean).map(Number));
  const open = page.items.filter((row) => row.finished_at === null);
  if (open.length === 0 && picked.size === 0) return nothing;
  const pickPage = () => setQuery({ pick: open.map((row) => row.id).join(",") });
  const cancelAll = async () => {
    const rows = await attempt(() => everyOne(query, true), (found) => `${plural(found.length, "workload")} can be cancelled`);
    if (rows) await cancelThese(rows.map((row) => row.id), `all ${plural(rows.length, "workload")} that these filters mean`, context);
  };
  if (picked.size === 0) return html`<button class="btn quiet" @click=${pickPage}>Pick this page</button><button class="btn quiet" @click=${cancelAll}>Cancel all of these…</button>`;
  return html`<button class="btn quiet" @click=${() => setQuery({ pick: null })}>Pick none</button><button class="btn danger" @click=${() => cancelThese([...picked], plural(picked.size, "workload"), context)}>Cancel ${count(picked.size)}…</button>`;
}

/** @param {Set<number>} picked @returns {import("../parts/table.js").Column<WorkloadRow>} */
const pickColumn = (picked) => ({
  name: "pick",
  title: "Pick",
  cell: (row) => {
    const change = () => {
      const next = new Set(picked);
      if (!next.delete(row.id)) next.add(row.id);
      setQuery({ pick: [...next].join(",") });
    };
    return row.finished_at === null ? html`<input type="checkbox" aria-label=${`Pick ${row.name}`} .checked=${live(picked.has(row.id))} @change=${change} />` : nothing;
  },
});

export default definePage({
  title: () => "Workloads",
  load: async ({ route, signal }) => {
    const [page, namespaces, queues] = await Promise.all([
      get("/workloads", { ...wanted(route.query), limit: LIMIT, offset: route.query.get("offset") }, signal),
      get("/names", { kind: "namespaces" }, signal),
      get("/names", { kind: "queues" }, signal),
    ]);
    return /** @type {Data} */ ({ page, namespaces: namespaces.items, queues: queues.items });
  },
  follows: (event) => event.workload !== null,
  atMostEveryMs: 2000,
  view: (data, context) => {
    const { query } = context.route;
    const { page } = data;
    const shown = (query.get("columns") ?? USUAL.join(",")).split(",");
    const columns = COLUMNS.filter((column) => shown.includes(column.name));
    const picked = new Set((query.get("pick") ?? "").split(",").filter(Boolean).map(Number));
    const isFiltered = ["state", "namespace", "queue", "search"].some((name) => query.has(name));
    const offset = Number(query.get("offset") ?? 0);
    const counts = page.counts ?? {};
    return html`<div class="head">
        <div><h1>Workloads</h1><p class="lead">${count(counts.running ?? 0)} running, ${count((counts.pending ?? 0) + (counts.starting ?? 0))} waiting or starting, as of ${clock(Date.now() / 1000)}.</p></div>
        <div class="actions">${exportButtons(COLUMNS, () => everyOne(query), "workloads")}<a class="btn primary" href="/submit">Submit</a></div>
      </div>
      ${chips(page, query)}
      <div class="tools">
        ${searchField(query.get("search") ?? "", (text) => setQuery({ search: text, offset: null }), "Name contains")}
        ${choice("Namespace", "namespace", data.namespaces, query)} ${choice("Queue", "queue", data.queues, query)}
        <span class="grow"></span>
        ${bulk(data, context)} ${columnChooser(COLUMNS, shown, (names) => setQuery({ columns: names.join(",") === USUAL.join(",") ? null : names.join(",") }))}
      </div>
      <div class="panel">
        ${table({
          columns: [pickColumn(picked), ...columns],
          rows: page.items,
          key: (row) => row.id,
          sort: query.get("sort") ?? "-submitted",
          onSort: (sort) => setQuery({ sort, offset: null }),
          caption: "Workloads",
          picked: (row) => picked.has(row.id),
          empty: isFiltered ? empty("No workload is like that", html`<button class="btn" @click=${() => setQuery({ state: null, namespace: null, queue: null, search: null, offset: null })}>Show all</button>`) : empty("Nothing was submitted yet", nothing, "dovetail submit --name hello -- echo hello"),
        })}
        ${page.items.length ? pager({ offset, limit: LIMIT, total: page.total ?? page.items.length, onGo: (next) => setQuery({ offset: next || null }, { push: true }) }) : nothing}
      </div>`;
  },
});
