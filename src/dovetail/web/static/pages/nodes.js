/** All nodes: how they are, how full they are, and what an operator does with them. */
import { html, nothing } from "../core/view.js";
import { get } from "../core/api.js";
import { definePage } from "../core/page.js";
import { setQuery } from "../core/route.js";
import { count, plural } from "../core/format.js";
import { nodeLink } from "../parts/badge.js";
import { searchField } from "../parts/choices.js";
import { commandToCopy, empty } from "../parts/states.js";
import { exportButtons, pager, table } from "../parts/table.js";
import { STATUSES, labelTags, nodeButtons, nodeState, useBar } from "../parts/node_actions.js";

/** @typedef {import("../types").Schemas["NodePage"]} NodePage */
/** @typedef {import("../types").Schemas["NodeRow"]} NodeRow */
/** @typedef {import("../parts/table.js").Column<NodeRow>} NodeColumn */

const LIMIT = 50;
const RESOURCES = ["cpu", "memory", "gpu"];

/** @param {URLSearchParams} query */
const wanted = (query) => ({ search: query.get("search"), status: query.get("status"), sort: query.get("sort") ?? "health" });

/** @param {NodeRow[]} rows @param {() => void} reload @returns {NodeColumn[]} */
function columnsFor(rows, reload) {
  const shown = RESOURCES.filter((name) => rows.some((row) => row.resources[name]?.capacity));
  return [
    { name: "name", title: "Node", sorts: true, cell: (row) => nodeLink(row.name), value: (row) => row.name },
    { name: "health", title: "Status", sorts: true, cell: (row) => html`${nodeState(row.status)}${row.reason && row.status !== "online" ? html`<div class="soft reason" title=${row.reason}>${row.reason}</div>` : nothing}`, value: (row) => row.status },
    { name: "tasks", title: "Tasks", sorts: true, isNumber: true, cell: (row) => count(row.tasks), value: (row) => row.tasks },
    ...shown.map((name) => /** @type {NodeColumn} */ ({ name, title: name === "gpu" || name === "cpu" ? name.toUpperCase() : "Memory", sorts: true, cell: (row) => useBar(row, name), value: (row) => row.resources[name]?.share })),
    { name: "backend", title: "Backend", cell: (row) => html`<a class="link" href=${`/backends?name=${encodeURIComponent(row.backend)}`}>${row.backend}</a>`, value: (row) => row.backend },
    { name: "labels", title: "Labels", cell: (row) => html`<span class="cut">${labelTags(row.labels)}</span>`, value: (row) => Object.entries(row.labels).map(([key, value]) => `${key}=${value}`).join(" ") },
    { name: "reason", title: "", cell: (row) => html`<span class="row-actions">${nodeButtons(row, reload, "quiet")}</span>`, value: (row) => row.reason },
  ];
}

/** @param {NodePage} data */
function sentence(data) {
  const total = Object.values(data.counts).reduce((sum, one) => sum + one, 0);
  const parts = STATUSES.filter((status) => data.counts[status]).map((status) => `${count(data.counts[status])} ${status}`);
  return `${plural(total, "node")}${parts.length ? `: ${parts.reverse().join(", ")}` : ""}.`;
}

/** @param {string} chosen @param {NodePage} data */
function statusChips(chosen, data) {
  const picked = new Set(chosen.split(",").filter(Boolean));
  const toggle = (/** @type {string} */ status) => {
    if (!picked.delete(status)) picked.add(status);
    setQuery({ status: [...picked].join(","), offset: null });
  };
  return STATUSES.filter((status) => data.counts[status] || picked.has(status)).map((status) => html`<button class="chip" aria-pressed=${String(picked.has(status))} @click=${() => toggle(status)}>${status} ${count(data.counts[status] ?? 0)}</button>`);
}

export default definePage({
  title: () => "Nodes",
  everyS: 5,
  follows: (event) => event.node !== null,
  load: ({ route, signal }) => get("/nodes", { ...wanted(route.query), limit: LIMIT, offset: route.query.get("offset") }, signal),
  view: (/** @type {NodePage} */ data, { route, reload }) => {
    const query = route.query;
    const asked = wanted(query);
    const columns = columnsFor(data.items, reload);
    const isFiltered = Boolean(asked.search || asked.status);
    const nothingHere = isFiltered
      ? empty("No node is like that", html`<button class="btn" @click=${() => setQuery({ search: null, status: null, offset: null })}>Show all nodes</button>`)
      : empty("No nodes yet", html`Add a backend, or let a machine join with its agent:`, "dovetail token join");
    return html`<h1>Nodes</h1>
      <p class="lead">${sentence(data)}</p>
      <div class="panel">
        <div class="tools">
          ${searchField(asked.search ?? "", (search) => setQuery({ search, offset: null }), "Find by name")}
          ${statusChips(asked.status ?? "", data)}
          <span class="grow"></span>
          ${exportButtons(columns, async () => (await get("/nodes", asked)).items, "nodes")}
        </div>
        ${table({ columns, rows: data.items, key: (row) => row.name, sort: asked.sort, onSort: (sort) => setQuery({ sort, offset: null }), caption: "Nodes", empty: nothingHere })}
        ${data.items.some((row) => RESOURCES.some((name) => row.resources[name]?.reserved)) ? html`<div class="legend"><span><i class="in-use"></i>allocated</span><span><i class="reserved"></i>reserved</span></div>` : nothing}
        ${data.total ? pager({ offset: Number(query.get("offset") ?? 0), limit: LIMIT, total: data.total, onGo: (offset) => setQuery({ offset: offset || null }) }) : nothing}
      </div>
      <p class="soft">The same in a terminal: ${commandToCopy("dovetail nodes")}</p>`;
  },
});
