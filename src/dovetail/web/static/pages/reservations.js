/** Reservations on a time line: capacity that is kept free, when, and for whom. */
import { html, nothing } from "../core/view.js";
import { send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { hereWith, setQuery } from "../core/route.js";
import { count, duration, plural, time } from "../core/format.js";
import { attempt, confirm } from "../core/notices.js";
import { nodeLink, state } from "../parts/badge.js";
import { segments } from "../parts/choices.js";
import { askForm } from "../parts/form_dialog.js";
import { getPage, serverList } from "../parts/server_list.js";
import { empty } from "../parts/states.js";
import { windows } from "../charts/windows.js";

/** @typedef {import("../types").Schemas["ReservationRow"]} ReservationRow */
/** @typedef {import("../parts/server_list.js").ListPage<ReservationRow>} ReservationData */

const PATH = "/reservations";
const SORT = "start";
const SPANS = /** @type {const} */ ([["1", "24 h"], ["7", "7 days"], ["30", "30 days"]]);
const MOST_WINDOWS = 400;
const BEFORE = 0.05; // of the time line lies in the past
const KINDS = /** @type {Record<string, string>} */ ({ planned: "warn", active: "ok", degraded: "bad" });

/** All windows of it up to then. @param {ReservationRow} row @param {number} until @returns {[number, number][]} */
function windowsOf(row, until) {
  /** @type {[number, number][]} */
  const found = [[row.start, row.until]];
  const last = Math.min(until, row.repeats_until ?? until);
  while (row.every_s && found.length < MOST_WINDOWS && found[found.length - 1][0] + row.every_s <= last) found.push([found[found.length - 1][0] + row.every_s, found[found.length - 1][1] + row.every_s]);
  return found;
}

/** @param {ReservationRow} row */
const forWhom = (row) => row.tenant ?? "nobody";

/** @param {ReservationRow} row */
function when(row) {
  const now = Date.now() / 1000;
  return row.start > now ? `in ${duration(row.start - now)}` : `${duration(Math.max(0, row.until - now))} left`;
}

/** @param {ReservationRow} row */
function where(row) {
  const names = Object.keys(row.nodes);
  if (names.length === 1) return nodeLink(names[0]);
  return html`<details><summary>${plural(names.length, "node")}</summary>${names.map((name) => html`${nodeLink(name)} `)}</details>`;
}

/** @param {() => void} reload @returns {import("../parts/table.js").Column<ReservationRow>[]} */
const columnsFor = (reload) => [
  { name: "id", title: "Number", sorts: true, isNumber: true, cell: (row) => row.id, value: (row) => row.id },
  { name: "status", title: "Status", sorts: true, cell: (row) => html`${state(row.status, KINDS[row.status])}${row.message ? html`<div class="bad">${row.message}</div>` : nothing}`, value: (row) => row.status },
  { name: "target", title: "Held", sorts: true, wraps: true, cell: (row) => row.target, value: (row) => row.target },
  { name: "nodes", title: "Nodes", wraps: true, cell: where, value: (row) => Object.keys(row.nodes).join(" ") },
  { name: "tenant", title: "For", sorts: true, cell: forWhom, value: forWhom },
  { name: "start", title: "From", sorts: true, cell: (row) => time(row.start), value: (row) => row.start },
  { name: "until", title: "Until", sorts: true, cell: (row) => html`${time(row.until)} <span class="soft">${when(row)}</span>`, value: (row) => row.until },
  { name: "every_s", title: "Again", sorts: true, cell: (row) => (row.every_s ? `every ${duration(row.every_s)}` : html`<span class="faint">–</span>`), value: (row) => row.every_s },
  { name: "holder", title: "Holder", sorts: true, wraps: true, cell: (row) => row.holder, value: (row) => row.holder },
  { name: "release", title: "", cell: (row) => html`<span class="row-actions"><button class="btn quiet" aria-label=${`Release reservation ${row.id}`} @click=${() => release(row, reload)}>Release</button></span>` },
];

/** @param {ReservationRow} row @param {() => void} reload */
async function release(row, reload) {
  const isSure = await confirm(`Release reservation ${row.id}?`, `It holds ${row.target}. Other work may use the capacity at once.`, "Release");
  if (isSure && (await attempt(async () => (await send("DELETE", `/reservations/${row.id}`), true), `Reservation ${row.id} is released`))) reload();
}

/** @param {() => void} reload */
async function reserve(reload) {
  const answer = await askForm({
    title: "Reserve capacity",
    detail: "Only work of the tenant's namespace may use it meanwhile; without a tenant nobody may, as for maintenance.",
    fields: [
      { name: "node", label: "Nodes, divided by commas; or leave it empty and name a domain", hint: "n1, n2" },
      { name: "domain", label: "Domain, LEVEL=NAME", hint: "rack=r1" },
      { name: "count", label: "Or so many tasks, wherever they fit", kind: "number" },
      { name: "resources", label: "How much on each node, or for each task; whole nodes if it is empty", hint: "cpu: 4, memory: 16GiB, gpu: 2" },
      { name: "start", label: "From", value: "now", hint: "now, +2h, 2026-12-01T08:00 (UTC)" },
      { name: "duration", label: "For", value: "2h", required: true },
      { name: "every", label: "Again every", hint: "1d" },
      { name: "tenant", label: "Tenant: the namespace that may use it" },
      { name: "holder", label: "Holder: who asks" },
    ],
    action: "Reserve",
    run: ({ node, domain, count: tasks, resources, start, duration: span, every, tenant, holder }) => {
      const nodes = node.split(",").map((one) => one.trim()).filter(Boolean);
      return send("POST", "/reservations", {
        ...(nodes.length ? { nodes } : {}),
        ...(domain ? { domain: Object.fromEntries([domain.split("=").map((one) => one.trim())]) } : {}),
        ...(tasks ? { count: Number(tasks) } : {}),
        ...(resources ? { resources: Object.fromEntries(resources.split(",").map((one) => one.split(/[:=\s]+/).map((part) => part.trim()).filter(Boolean))) } : {}),
        ...(start ? { start } : {}),
        duration: span,
        ...(every ? { every } : {}),
        ...(tenant ? { tenant } : {}),
        ...(holder ? { holder } : {}),
      });
    },
    done: (/** @type {ReservationRow} */ made) => `Reservation ${made.id}: ${made.target}`,
  });
  if (answer) reload();
}

export default definePage({
  title: () => "Reservations",
  everyS: 10,
  load: ({ route, signal }) => getPage(PATH, route.query, SORT, signal),
  view: (/** @type {ReservationData} */ data, { route, reload }) => {
    const query = route.query;
    const days = Number(query.get("days") ?? 1);
    const from = Date.now() / 1000 - days * 86400 * BEFORE;
    const until = from + days * 86400;
    const line = data.items.map((row) => ({ name: `${row.id} ${row.target}`, href: hereWith({ search: row.target, offset: null }), kind: KINDS[row.status] === "warn" ? "wait" : KINDS[row.status], windows: windowsOf(row, until), words: `for ${forWhom(row)}` }));
    return html`<div class="head"><div><h1>Reservations</h1><p class="lead">${data.total ? `${plural(data.total, "reservation")}, ${count(data.counts.active ?? 0)} active now.` : "Capacity that is kept free for a while."}</p></div><div class="actions"><button class="btn primary" @click=${() => reserve(reload)}>Reserve…</button></div></div>
      ${line.length ? html`<div class="panel"><div class="tools"><h2 class="grow">Time line${line.length < data.total ? html` <small>of these ${count(line.length)}</small>` : nothing}</h2>${segments(SPANS, String(days), (value) => setQuery({ days: value === "1" ? null : value }), "How far")}</div>${windows(line, from, until, "Reservations over time")}</div>` : nothing}
      ${serverList({ path: PATH, data, query, sort: SORT, columns: columnsFor(reload), key: (row) => row.id, caption: "Reservations", find: "Find by node, tenant, holder", notFound: "No reservation is like that", none: empty("Nothing is reserved", nothing, "dovetail reserve create --node NODE --at +2h --for 1h") })}`;
  },
});
