/** Services: how many replicas are healthy, which revision runs, where they are reached. */
import { html, nothing } from "../core/view.js";
import { address, get, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { hereWith, setQuery } from "../core/route.js";
import { ago, count, number, plural } from "../core/format.js";
import { attempt, confirm } from "../core/notices.js";
import { nodeLink, state } from "../parts/badge.js";
import { tabs } from "../parts/choices.js";
import { askForm } from "../parts/form_dialog.js";
import { getPage, serverList } from "../parts/server_list.js";
import { empty } from "../parts/states.js";
import { table } from "../parts/table.js";
import { meter } from "../charts/bars.js";

/** @typedef {import("../types").Schemas["ServiceRow"]} ServiceRow */
/** @typedef {import("../types").Schemas["ServiceDetail"]} ServiceDetail */
/** @typedef {import("../types").Schemas["ReplicaRow"]} ReplicaRow */
/** @typedef {import("../types").Schemas["RevisionRow"]} RevisionRow */
/** @typedef {import("../types").Schemas["EndpointRow"]} EndpointRow */
/** @typedef {import("../parts/server_list.js").ListPage<ServiceRow> & {one: ServiceDetail | null, endpoints: EndpointRow[]}} ServiceData */

const PATH = "/services";
const SORT = "name";
const MOST_DOTS = 24;
/** @type {Record<string, string>} */
const ROLLOUTS = { complete: "ok", progressing: "warn", failed: "bad", rolled_back: "bad", removed: "warn" };

/** @param {ServiceRow} row */
const nameOf = (row) => (row.namespace === "default" ? row.name : `${row.namespace}/${row.name}`);
/** @param {ServiceRow} row */
const rollout = (row) => (row.removed ? "removed" : row.rollout);
/** @param {ServiceRow} row @param {string} [more] */
const at = (row, more = "") => address(`/services/${segment(row.name)}${more}`, { namespace: row.namespace });

/** One dot a replica that is wanted: full if it is healthy. @param {ServiceRow} row */
function dots(row) {
  const all = Math.max(row.replicas, row.ready);
  const words = `${row.ready} of ${row.replicas} ready`;
  if (all > MOST_DOTS) return html`<span class="use" title=${words}>${meter(row.ready / Math.max(1, row.replicas), words)}<span>${count(row.ready)}/${count(row.replicas)}</span></span>`;
  return html`<span class="replicas" role="img" aria-label=${words} title=${words}>${Array.from({ length: all }, (_, place) => html`<i class=${place < row.ready ? "dot ok" : "dot empty-dot"}></i>`)}</span> <span class="soft">${row.ready}/${row.replicas}</span>`;
}

/** @param {() => void} reload @returns {import("../parts/table.js").Column<ServiceRow>[]} */
const columnsFor = (reload) => [
  { name: "name", title: "Service", sorts: true, cell: (row) => html`<a class="link" href=${hereWith({ name: nameOf(row), tab: null, from: null })}>${nameOf(row)}</a>`, value: nameOf },
  { name: "ready", title: "Healthy", sorts: true, cell: dots, value: (row) => `${row.ready}/${row.replicas}` },
  { name: "revision", title: "Revision", sorts: true, isNumber: true, cell: (row) => row.revision, value: (row) => row.revision },
  { name: "rollout", title: "Rollout", sorts: true, cell: (row) => html`${state(rollout(row).replace("_", " "), ROLLOUTS[rollout(row)])}${rollout(row) === "progressing" ? html` <span class="soft">${row.updated} of ${row.replicas} updated</span>` : nothing}`, value: rollout },
  { name: "message", title: "Message", wraps: true, cell: (row) => row.message, value: (row) => row.message },
  { name: "made_at", title: "Age", sorts: true, isNumber: true, cell: (row) => ago(row.made_at), value: (row) => row.made_at },
  { name: "actions", title: "", cell: (row) => html`<span class="row-actions">${buttons(row, reload, "quiet")}</span>` },
];

/** @param {ServiceRow} row @param {() => void} reload @param {string} [kind] */
const buttons = (row, reload, kind = "") => html`<button class=${`btn ${kind}`} aria-label=${`Scale ${nameOf(row)}`} @click=${() => scale(row, reload)}>Scale</button>
  <button class=${`btn ${kind}`} aria-label=${`Restart ${nameOf(row)}`} @click=${() => restart(row, reload)}>Restart</button>`;

/** @param {ServiceRow} row @param {() => void} reload */
async function scale(row, reload) {
  const answer = await askForm({
    title: `Scale ${nameOf(row)}`,
    detail: "Those with the highest index go first.",
    fields: [{ name: "replicas", label: "Replicas", kind: "number", value: String(row.replicas), required: true }],
    action: "Scale",
    run: ({ replicas }) => send("PUT", at(row, "/scale"), { replicas: Number(replicas) }),
    done: (/** @type {ServiceRow} */ now) => `${nameOf(row)}: ${plural(now.replicas, "replica")} wanted`,
  });
  if (answer) reload();
}

/** @param {ServiceRow} row @param {() => void} reload */
async function restart(row, reload) {
  const isSure = await confirm(`Restart ${nameOf(row)}?`, "Every replica is replaced by a new one of the same definition, as an update does.", "Restart");
  if (isSure && (await attempt(() => send("POST", address(`/services/${segment(row.name)}/restart`, { namespace: row.namespace, by: "dashboard" })), `${nameOf(row)} is being restarted`))) reload();
}

/** @param {ServiceRow} row @param {number | null} revision @param {() => void} reload */
async function undo(row, revision, reload) {
  const to = revision === null ? "the revision before" : `revision ${revision}`;
  const isSure = await confirm(`Take ${nameOf(row)} back to ${to}?`, "As an update does: replicas are replaced a few at a time.", "Take it back");
  if (isSure && (await attempt(() => send("POST", at(row, "/undo"), revision === null ? {} : { revision }), `${nameOf(row)} goes back to ${to}`))) reload();
}

/** @param {ServiceRow} row @param {() => void} reload */
async function remove(row, reload) {
  const isSure = await confirm(`Remove service ${nameOf(row)}?`, `Its ${plural(row.replicas, "replica")} are stopped, and it is forgotten.`, "Remove");
  if (!isSure || !(await attempt(() => send("DELETE", at(row)), `${nameOf(row)} is being removed`))) return;
  setQuery({ name: null });
  reload();
}

/** @type {import("../parts/table.js").Column<ReplicaRow>[]} */
const REPLICAS = [
  { name: "name", title: "Replica", cell: (row) => row.name, value: (row) => row.name },
  { name: "revision", title: "Revision", isNumber: true, cell: (row) => row.revision, value: (row) => row.revision },
  { name: "state", title: "State", cell: (row) => state(row.state.replace("_", " "), row.ready ? "ok" : row.state === "crash_loop" ? "bad" : "warn"), value: (row) => row.state },
  { name: "restarts", title: "Restarts", isNumber: true, cell: (row) => count(row.restarts), value: (row) => row.restarts },
  { name: "node", title: "Node", cell: (row) => (row.node ? nodeLink(row.node) : html`<span class="faint">–</span>`), value: (row) => row.node },
  { name: "address", title: "Address", cell: (row) => html`<span class="mono">${Object.values(row.ports).map((port) => (row.address ? `${row.address}:${port}` : `port ${port}`)).join(" ") || row.address || "–"}</span>`, value: (row) => row.address },
  { name: "started_at", title: "Started", isNumber: true, cell: (row) => ago(row.started_at), value: (row) => row.started_at },
  { name: "message", title: "Message", wraps: true, cell: (row) => row.message, value: (row) => row.message },
];

/** @param {ServiceDetail} one @param {() => void} reload @returns {import("../parts/table.js").Column<RevisionRow>[]} */
const revisionColumns = (one, reload) => [
  { name: "number", title: "Revision", isNumber: true, cell: (row) => row.number, value: (row) => row.number },
  { name: "made_at", title: "Made", cell: (row) => ago(row.made_at), value: (row) => row.made_at },
  { name: "cause", title: "By", wraps: true, cell: (row) => row.cause || html`<span class="faint">–</span>`, value: (row) => row.cause },
  { name: "is", title: "Is", cell: (row) => (row.current ? "current" : row.stable ? "stable" : ""), value: (row) => row.current },
  { name: "runs", title: "Runs", wraps: true, cell: (row) => html`<span class="mono">${row.image ?? row.command.join(" ")}</span>`, value: (row) => row.image ?? row.command.join(" ") },
  { name: "undo", title: "", cell: (row) => (row.current ? nothing : html`<span class="row-actions"><button class="btn quiet" @click=${() => undo(one, row.number, reload)}>Go back to it</button></span>`) },
];

/** @type {import("../parts/table.js").Column<EndpointRow>[]} */
const ENDPOINTS = [
  { name: "name", title: "Replica", cell: (row) => row.name, value: (row) => row.name },
  { name: "address", title: "Address", cell: (row) => html`<span class="mono">${row.address}</span>`, value: (row) => row.address },
  { name: "ports", title: "Ports", cell: (row) => Object.entries(row.ports).map(([name, port]) => `${name}=${port}`).join(" "), value: (row) => Object.values(row.ports).join(" ") },
  { name: "node", title: "Node", cell: (row) => nodeLink(row.node), value: (row) => row.node },
  { name: "distance", title: "Distance", isNumber: true, cell: (row) => (row.distance === null ? html`<span class="faint">–</span>` : number(row.distance)), value: (row) => row.distance },
];

/** @param {ServiceData} data @param {ServiceDetail} one @param {URLSearchParams} query @param {() => void} reload */
function detail(data, one, query, reload) {
  const tab = query.get("tab") ?? "replicas";
  const choices = /** @type {const} */ ([["replicas", `Replicas ${one.items.length}`], ["endpoints", `Endpoints ${data.endpoints.length}`], ["revisions", `Revisions ${one.revisions.length}`], ["definition", "Definition"]]);
  const from = html`<div class="tools"><label for="asking">Distance from node</label><input id="asking" type="text" .value=${query.get("from") ?? ""} @change=${(/** @type {Event} */ event) => setQuery({ from: /** @type {HTMLInputElement} */ (event.target).value.trim() })} /></div>`;
  const shown = {
    replicas: () => table({ columns: REPLICAS, rows: one.items, key: (row) => row.workload, caption: `Replicas of ${nameOf(one)}`, empty: empty("It has no replicas") }),
    endpoints: () => html`${from}${table({ columns: ENDPOINTS, rows: data.endpoints, key: (row) => row.workload, caption: `Endpoints of ${nameOf(one)}`, empty: empty("No replica is reached", "Replicas that are ready on nodes with an address are listed here.") })}`,
    revisions: () => table({ columns: revisionColumns(one, reload), rows: [...one.revisions].reverse(), key: (row) => row.number, caption: `Revisions of ${nameOf(one)}` }),
    definition: () => html`<pre>${JSON.stringify(one.spec, null, 2)}</pre>`,
  };
  const previous = one.revisions.some((row) => !row.current);
  return html`<div class="panel">
    <div class="head"><div><h2>${nameOf(one)} ${state(rollout(one).replace("_", " "), ROLLOUTS[rollout(one)])}</h2><p class="soft">${one.ready} of ${one.replicas} ready; revision ${one.revision}, ${one.updated} of ${one.replicas} updated.${one.message ? ` ${one.message}` : ""}</p></div>
      <div class="actions">${buttons(one, reload)}${previous ? html`<button class="btn" @click=${() => undo(one, null, reload)}>Undo</button>` : nothing}<button class="btn danger" @click=${() => remove(one, reload)}>Remove…</button><button class="btn quiet" aria-label="Close" @click=${() => setQuery({ name: null, tab: null, from: null })}>×</button></div></div>
    ${rollout(one) === "progressing" ? meter(one.updated / Math.max(1, one.replicas), "updated") : nothing}
    ${tabs(choices, tab, (value) => setQuery({ tab: value === "replicas" ? null : value }))}
    ${(shown[/** @type {keyof typeof shown} */ (tab)] ?? shown.replicas)()}
  </div>`;
}

export default definePage({
  title: (route) => (route.query.get("name") ? `Service ${route.query.get("name")}` : "Services"),
  everyS: 3,
  follows: (event) => event.workload !== null,
  /** @returns {Promise<ServiceData>} */
  load: async ({ route, signal }) => {
    const name = route.query.get("name");
    const where = `/services/${segment(name ?? "")}`;
    const [list, one, endpoints] = await Promise.all([getPage(PATH, route.query, SORT, signal), name ? get(where, {}, signal) : null, name ? get(`${where}/endpoints`, { from: route.query.get("from") }, signal) : { items: [] }]);
    return { ...list, one, endpoints: endpoints.items };
  },
  view: (data, { route, reload }) => {
    const query = route.query;
    const short = data.counts.short ?? 0;
    return html`<h1>Services</h1><p class="lead">${data.total ? `${plural(data.total, "service")}; ${short ? `${count(short)} ${short === 1 ? "has" : "have"} fewer healthy replicas than wanted` : "all replicas are healthy"}.` : "Work that stays up, with replicas that are replaced when they fail."}</p>
      ${data.one ? detail(data, data.one, query, reload) : nothing}
      ${serverList({ path: PATH, data, query, sort: SORT, columns: columnsFor(reload), key: nameOf, caption: "Services", find: "Find by name", notFound: "No service is called that", none: empty("No services yet", nothing, "dovetail apply -f service.yaml"), picked: (row) => row.name === data.one?.name && row.namespace === data.one.namespace })}`;
  },
});
