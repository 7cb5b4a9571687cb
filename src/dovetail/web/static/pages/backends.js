/** Backends: what they have, whether they answer, and what went wrong. */
import { html, nothing } from "../core/view.js";
import { address, get, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { hereWith, setQuery } from "../core/route.js";
import { ago, count, duration, number, plural, time } from "../core/format.js";
import { state } from "../parts/badge.js";
import { askForm } from "../parts/form_dialog.js";
import { getPage, serverList } from "../parts/server_list.js";
import { empty } from "../parts/states.js";

/** @typedef {import("../types").Schemas["BackendRow"]} BackendRow */
/** @typedef {import("../types").Schemas["BackendDetail"]} BackendDetail */
/** @typedef {import("../types").Schemas["HistoryRow"]} HistoryRow */
/** @typedef {import("../types").Schemas["BackendList"] & {one: BackendDetail | null, history: HistoryRow[]}} BackendData */

const PATH = "/backends";
const SORT = "state"; // the worst first
/** What the breaker's states mean. @type {Record<string, [string, string]>} */
const STATES = { closed: ["in use", "ok"], open: ["left alone", "bad"], "half-open": ["being tried", "warn"], starting: ["starting", "warn"], unusable: ["unusable", "bad"] };

/** @param {BackendRow} row */
const backendState = (row) => html`<span title=${`circuit breaker: ${row.state}`}>${state(...(STATES[row.state] ?? [row.state, ""]))}</span>`;

/** @param {number | null} seconds */
const took = (seconds) => (seconds === null ? html`<span class="faint">–</span>` : seconds < 0.001 ? `${number(Math.round(seconds * 1e6))} µs` : seconds < 1 ? `${number(seconds * 1000)} ms` : duration(seconds));

/** @type {import("../parts/table.js").Column<BackendRow>[]} */
const COLUMNS = [
  { name: "name", title: "Backend", sorts: true, cell: (row) => html`<a class="link" href=${hereWith({ name: row.name })}>${row.name}</a>`, value: (row) => row.name },
  { name: "kind", title: "Kind", sorts: true, cell: (row) => row.kind, value: (row) => row.kind },
  { name: "state", title: "State", sorts: true, cell: backendState, value: (row) => row.state },
  { name: "nodes", title: "Nodes", sorts: true, isNumber: true, cell: (row) => count(row.nodes), value: (row) => row.nodes },
  { name: "tasks", title: "Tasks", sorts: true, isNumber: true, cell: (row) => count(row.tasks), value: (row) => row.tasks },
  { name: "waiting", title: "Not answered", sorts: true, isNumber: true, cell: (row) => count(row.waiting), value: (row) => row.waiting },
  { name: "latency_p50_s", title: "Half within", sorts: true, isNumber: true, cell: (row) => took(row.latency_p50_s), value: (row) => row.latency_p50_s },
  { name: "latency_p99_s", title: "99 % within", sorts: true, isNumber: true, cell: (row) => took(row.latency_p99_s), value: (row) => row.latency_p99_s },
  { name: "errors", title: "Errors", sorts: true, isNumber: true, cell: (row) => html`<span class=${row.errors ? "bad" : ""}>${count(row.errors)}</span> <span class="faint">of ${count(row.calls)}</span>`, value: (row) => row.errors },
  { name: "last_success_at", title: "Answered", sorts: true, isNumber: true, cell: (row) => ago(row.last_success_at), value: (row) => row.last_success_at },
];

/** @param {BackendDetail} one @param {HistoryRow[]} history @param {() => void} reload */
function detail(one, history, reload) {
  const settings = Object.keys(one.settings).length ? JSON.stringify(one.settings, null, 2) : "";
  const late = one.stale_for_s ? `Changes are known within ${number(one.stale_for_s)} s` : "Changes are known at once";
  return html`<div class="panel">
    <div class="head"><h2>${one.name} ${backendState(one)}</h2><div class="actions">
      ${one.source === "added" ? html`<button class="btn danger" @click=${() => removeBackend(one, reload)}>Remove…</button>` : nothing}
      <button class="btn quiet" @click=${() => setQuery({ name: null })} aria-label="Close">×</button>
    </div></div>
    ${one.problem ? html`<p class="bad" role="alert">${one.problem}</p>` : nothing}
    <div class="grid g-even">
      <dl class="pairs">
        <dt>Kind</dt><dd>${one.kind}, ${one.source === "added" ? html`added ${ago(one.added_at)}` : one.source === "settings" ? "from the settings of the server" : "built-in"}</dd>
        <dt>Has</dt><dd>${plural(one.nodes, "node")}, ${plural(one.tasks, "task")}; ${plural(one.waiting, "command")} not yet answered</dd>
        <dt>Answers</dt><dd>${plural(one.calls, "call")}, ${count(one.errors)} failed; half within ${took(one.latency_p50_s)}, 99 % within ${took(one.latency_p99_s)}</dd>
        <dt>Last answer</dt><dd>${ago(one.last_success_at)}</dd>
        ${one.last_error_at === null ? nothing : html`<dt>Last error</dt><dd class="bad">${ago(one.last_error_at)}: ${one.last_error}</dd>`}
        <dt>Can</dt><dd>${one.capabilities.join(", ") || "nothing beyond the contract"}</dd>
        <dt>Consistency</dt><dd>${late}${one.sees_own_writes ? "" : "; its own writes are seen later"}.</dd>
      </dl>
      <div>${settings ? html`<h3>Settings</h3><pre>${settings}</pre>` : html`<p class="soft">It has no settings.</p>`}</div>
    </div>
    <h3>Who changed it</h3>
    ${history.length ? html`<ul class="plain">${history.map((row) => html`<li>${time(row.at)} ${row.message}</li>`)}</ul>` : html`<p class="soft">Nothing is remembered: it stands in the settings, or was never changed.</p>`}
  </div>`;
}

/** @param {BackendDetail} one @param {() => void} reload */
async function removeBackend(one, reload) {
  const answer = await askForm({
    title: `Remove backend ${one.name}?`,
    detail: `Its ${plural(one.nodes, "node")} go with it.${one.tasks ? ` ${plural(one.tasks, "task")} run there.` : ""}`,
    fields: [
      { name: "note", label: "Note, for the history" },
      { name: "force", label: "If tasks run there", kind: "choice", options: [{ value: "", words: "do not remove it" }, { value: "true", words: "place them elsewhere" }] },
    ],
    action: "Remove",
    isDanger: true,
    run: ({ note, force }) => send("DELETE", address(`/backends/${segment(one.name)}`, { note, force, author: "dashboard" })),
    done: (/** @type {import("../types").Schemas["RemovedBackend"]} */ removed) => `${one.name} is removed with ${plural(removed.nodes, "node")}`,
  });
  if (!answer) return;
  setQuery({ name: null });
  reload();
}

/** @param {string[]} kinds @param {() => void} reload */
async function addBackend(kinds, reload) {
  const answer = await askForm({
    title: "Add a backend",
    detail: "From now on and after restarts. Secrets in its settings are kept encrypted. The pages of the documentation below backends say what each kind needs.",
    fields: [
      { name: "name", label: "Name", required: true, hint: "lab" },
      { name: "kind", label: "Kind", kind: "choice", value: "simulated", options: kinds.map((kind) => ({ value: kind, words: kind })) },
      { name: "settings", label: "Settings, as YAML", kind: "area", hint: "groups: [{prefix: n, count: 4}]" },
      { name: "note", label: "Note, for the history" },
    ],
    action: "Add",
    run: ({ name, kind, settings, note }) => send("PUT", address(`/backends/${segment(name)}`, { note, author: "dashboard" }), `kind: ${kind}\n${settings}\n`),
    done: (/** @type {import("../types").Schemas["AddedBackend"]} */ added) => [`${added.name} is added`, ...added.notes].join("; "),
  });
  if (!answer) return;
  setQuery({ name: answer.name });
  reload();
}

/** Those that are not in use by name where this page lists all of them. @param {BackendData} data */
function sentence(data) {
  const all = plural(data.total, "backend");
  const broken = data.items.filter((row) => row.state !== "closed");
  const states = Object.entries(data.counts).filter(([name]) => name !== "closed");
  if (!states.length) return `${all}, all in use.`;
  const words = (/** @type {string} */ name) => (STATES[name] ?? [name])[0];
  const isComplete = broken.length === states.reduce((sum, [, number]) => sum + number, 0);
  return `${all}; ${isComplete ? broken.map((row) => `${row.name} is ${words(row.state)}`).join(", ") : states.map(([name, number]) => `${count(number)} ${words(name)}`).join(", ")}.`;
}

export default definePage({
  title: (route) => (route.query.get("name") ? `Backend ${route.query.get("name")}` : "Backends"),
  everyS: 5,
  follows: (event) => event.backend !== null,
  /** @returns {Promise<BackendData>} */
  load: async ({ route, signal }) => {
    const name = route.query.get("name");
    const [list, one, history] = await Promise.all([
      getPage(PATH, route.query, SORT, signal),
      name ? get(`/backends/${segment(name)}`, {}, signal) : null,
      name ? get("/events", { backend: name, newest: true, limit: 20 }, signal) : { items: [] },
    ]);
    return { ...list, one, history: history.items };
  },
  view: (data, { route, reload }) => {
    const problems = data.items.filter((row) => row.problem);
    return html`<div class="head"><div><h1>Backends</h1><p class="lead">${sentence(data)}</p></div><div class="actions"><button class="btn primary" @click=${() => addBackend(data.kinds, reload)}>Add…</button></div></div>
      ${problems.map((row) => html`<div class="notice bad"><span class="bad">!</span><span class="grow"><b>${row.name}</b> ${row.problem}</span></div>`)}
      ${data.one ? detail(data.one, data.history, reload) : nothing}
      ${serverList({ path: PATH, data, query: route.query, sort: SORT, columns: COLUMNS, key: (row) => row.name, caption: "Backends", find: "Find by name or kind", notFound: "No backend is called that", none: empty("No backends", nothing, "dovetail backend add --help"), picked: (row) => row.name === data.one?.name })}`;
  },
});
