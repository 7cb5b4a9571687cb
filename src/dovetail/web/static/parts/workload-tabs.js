/** Below the answer: tasks, output, events, the definition and earlier decisions of a workload. */
import { html, live, nothing } from "../core/view.js";
import { get } from "../core/api.js";
import { count, duration, time } from "../core/format.js";
import { copy } from "../core/notices.js";
import { setQuery } from "../core/route.js";
import { yaml } from "../core/yaml.js";
import { gantt } from "../charts/bars.js";
import { nodeLink, state } from "./badge.js";
import { empty } from "./states.js";
import { exportButtons, pager, table } from "./table.js";
import "./log-view.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {Schemas["TaskRow"]} TaskRow */
/** @typedef {Schemas["WorkloadDetail"]} WorkloadDetail */
/** @typedef {"tasks" | "logs" | "events" | "definition" | "decisions"} Tab */
/** @typedef {{tasks?: Schemas["TaskPage"], attempts?: Schemas["AttemptPage"], events?: Schemas["HistoryPage"], decisions?: Schemas["DecisionPage"]}} TabData */

export const TABS = /** @type {const} */ ([["tasks", "Tasks"], ["logs", "Logs"], ["events", "Events"], ["definition", "Definition"], ["decisions", "Decisions"]]);
const LIMIT = 50;
const MOST_ATTEMPTS = 12;

/** @param {URLSearchParams} query */
export const tabOf = (query) => /** @type {Tab} */ (TABS.find(([name]) => name === query.get("tab"))?.[0] ?? "tasks");

/** What the open tab shows. @param {string} path of the workload @param {URLSearchParams} query @param {AbortSignal} signal @returns {Promise<TabData>} */
export async function loadTab(path, query, signal) {
  const offset = query.get("offset");
  switch (tabOf(query)) {
    case "tasks": {
      const [tasks, attempts] = await Promise.all([get(`${path}/tasks`, { order: "unusual", limit: LIMIT, offset }, signal), get(`${path}/attempts`, { limit: MOST_ATTEMPTS }, signal)]);
      return { tasks, attempts };
    }
    case "logs":
      return { attempts: await get(`${path}/attempts`, { replica: query.get("task") ?? 0, limit: 100 }, signal) };
    case "events":
      return { events: await get(`${path}/history`, { newest: true, limit: LIMIT, before: query.get("before") }, signal) };
    case "decisions":
      return { decisions: await get(`${path}/decisions`, { limit: 20, cursor: query.get("cursor") }, signal) };
    default:
      return {};
  }
}

/** @param {TabData} data @param {WorkloadDetail} workload @param {string} ref @param {URLSearchParams} query */
export function tabView(data, workload, ref, query) {
  switch (tabOf(query)) {
    case "tasks":
      return tasksTab(data, ref, query);
    case "logs":
      return logsTab(data, workload, ref, query);
    case "events":
      return eventsTab(data, query);
    case "decisions":
      return decisionsTab(data, query);
    default:
      return html`<div class="tools"><span class="grow"></span><button class="btn quiet" @click=${() => copy(yaml(workload.spec))}>Copy</button></div><pre tabindex="0">${yaml(workload.spec)}</pre>`;
  }
}

/** @param {TaskRow} row */
const ranS = (row) => (row.started_at === null ? null : (row.finished_at ?? Date.now() / 1000) - row.started_at);

/** @type {import("./table.js").Column<TaskRow>[]} */
const TASKS = [
  { name: "task", title: "Task", cell: (row) => html`<a class="link" href=${`${location.pathname}?tab=logs&task=${row.replica}`} title="Its output">${row.replica}</a>`, value: (row) => row.replica, isNumber: true },
  { name: "state", title: "State", cell: (row) => state(row.state), value: (row) => row.state },
  { name: "node", title: "Node", cell: (row) => (row.node ? nodeLink(row.node) : html`<span class="faint">–</span>`), value: (row) => row.node },
  { name: "gpu", title: "GPU", cell: (row) => spans(row.devices), value: (row) => row.devices.join(" ") },
  { name: "tries", title: "Tries", cell: (row) => row.attempt, value: (row) => row.attempt, isNumber: true },
  { name: "exit", title: "Exit", cell: (row) => row.exit_code ?? "–", value: (row) => row.exit_code, isNumber: true },
  { name: "started", title: "Started", cell: (row) => time(row.started_at), value: (row) => row.started_at },
  { name: "ran", title: "Ran", cell: (row) => duration(ranS(row)), value: ranS, isNumber: true },
  { name: "note", title: "Note", cell: (row) => html`<span class="soft">${row.message}</span>`, value: (row) => row.message, wraps: true },
];

/** `0–3, 6`. @param {number[]} slots */
function spans(slots) {
  /** @type {[number, number][]} */
  const found = [];
  for (const slot of [...slots].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === slot - 1) last[1] = slot;
    else found.push([slot, slot]);
  }
  return found.length ? found.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ") : "–";
}

/** @param {TabData} data @param {string} ref @param {URLSearchParams} query */
function tasksTab({ tasks, attempts }, ref, query) {
  if (!tasks) return nothing;
  const rows = (attempts?.items ?? []).map((one) => ({ name: `${one.replica}, try ${one.attempt}`, kind: kindOf(one.state), from: one.placed_at, until: one.ended_at, words: `${one.node}: ${one.state}` }));
  const all = async () => (await get(`/workloads/${ref}/tasks`, { order: "unusual", limit: 10_000 })).items;
  return html`<div class="tools"><span class="soft">Failed and unusual ones first.</span><span class="grow"></span>${exportButtons(TASKS, all, "tasks")}</div>
    ${table({ columns: TASKS, rows: tasks.items, key: (row) => `${row.workload}.${row.replica}`, caption: "Tasks", empty: empty("It has no tasks") })}
    ${pager({ offset: Number(query.get("offset") ?? 0), limit: LIMIT, total: tasks.total, onGo: (offset) => setQuery({ offset: offset || null }, { push: true }) })}
    ${rows.length ? html`<h2 class="title">Attempts <small class="soft">${attempts && attempts.total > rows.length ? `the newest ${rows.length} of ${count(attempts.total)}` : ""}</small></h2>${gantt(rows, "Attempts over time")}` : nothing}`;
}

/** @param {string} word */
const kindOf = (word) => (word === "succeeded" ? "ok" : ["failed", "lost", "evicted", "preempted"].includes(word) ? "bad" : "");

/** @param {TabData} data @param {WorkloadDetail} workload @param {string} ref @param {URLSearchParams} query */
function logsTab({ attempts }, workload, ref, query) {
  const task = Number(query.get("task") ?? 0);
  const number = query.get("attempt") ? Number(query.get("attempt")) : null;
  const tries = [...new Set((attempts?.items ?? []).map((one) => one.attempt))];
  const choose = (/** @type {Event} */ event) => setQuery({ task: /** @type {HTMLInputElement} */ (event.target).value, attempt: null });
  const chooseTry = (/** @type {Event} */ event) => setQuery({ attempt: /** @type {HTMLSelectElement} */ (event.target).value });
  return html`<div class="tools">
      ${workload.replicas > 1 ? html`<label>Task <input type="number" min="0" max=${workload.replicas - 1} .value=${live(String(task))} @change=${choose} /></label> <span class="soft">of ${count(workload.replicas)}</span>` : nothing}
      ${tries.length > 1 ? html`<label>Try <select @change=${chooseTry}><option value="">latest</option>${tries.map((one) => html`<option value=${one} ?selected=${one === number}>${one}</option>`)}</select></label>` : nothing}
    </div>
    <log-view .source=${{ ref, replica: task, attempt: number }}></log-view>`;
}

/** @param {TabData} data @param {URLSearchParams} query */
function eventsTab({ events }, query) {
  if (!events) return nothing;
  const older = events.items.length === LIMIT ? events.items.at(-1)?.seq : undefined;
  return html`${table({
      columns: [
        { name: "at", title: "When", cell: (row) => time(row.at), value: (row) => row.at },
        { name: "kind", title: "What", cell: (row) => state(row.kind), value: (row) => row.kind },
        { name: "replica", title: "Task", cell: (row) => row.replica ?? "–", value: (row) => row.replica, isNumber: true },
        { name: "node", title: "Node", cell: (row) => (row.node ? nodeLink(row.node) : "–"), value: (row) => row.node },
        { name: "message", title: "Message", cell: (row) => html`<span class="soft">${row.message}</span>`, value: (row) => row.message, wraps: true },
      ],
      rows: events.items,
      key: (row) => row.seq,
      caption: "Events, newest first",
      empty: empty("Nothing happened before that"),
    })}
    <div class="tools">${query.get("before") ? html`<button class="btn" @click=${() => setQuery({ before: null })}>Newest</button>` : nothing}${older ? html`<button class="btn" @click=${() => setQuery({ before: older }, { push: true })}>Older</button>` : nothing}</div>`;
}

/** @param {TabData} data @param {URLSearchParams} query */
function decisionsTab({ decisions }, query) {
  if (!decisions) return nothing;
  return html`${table({
      columns: [
        { name: "at", title: "When", cell: (row) => time(row.at), value: (row) => row.at },
        { name: "replica", title: "Task", cell: (row) => row.replica, value: (row) => row.replica, isNumber: true },
        { name: "node", title: "Decided", cell: (row) => (row.node ? nodeLink(row.node) : state("waits", "warn")), value: (row) => row.node },
        { name: "score", title: "Points", cell: (row) => row.explanation.best[0]?.total.toFixed(2) ?? "–", value: (row) => row.explanation.best[0]?.total, isNumber: true },
        { name: "profile", title: "Profile", cell: (row) => row.explanation.profile, value: (row) => row.explanation.profile },
        { name: "why", title: "Why", cell: (row) => html`<span class="soft">${row.explanation.message}</span>`, value: (row) => row.explanation.message, wraps: true },
      ],
      rows: decisions.items,
      key: (row) => `${row.workload}.${row.replica}.${row.attempt}.${row.at}`,
      caption: "Decisions, newest first",
      empty: empty("Nothing was decided about it yet"),
    })}
    <div class="tools">${query.get("cursor") ? html`<button class="btn" @click=${() => setQuery({ cursor: null })}>Newest</button>` : nothing}${decisions.cursor ? html`<button class="btn" @click=${() => setQuery({ cursor: decisions.cursor }, { push: true })}>Older</button>` : nothing}</div>`;
}
