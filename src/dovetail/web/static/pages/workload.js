/** One workload, or the workloads of a group: the answer first, then what would help, then how it was decided. */
import { html, nothing } from "../core/view.js";
import { Problem, get, segment, send } from "../core/api.js";
import { count, plural } from "../core/format.js";
import { attempt, confirm, copy, wordsOf } from "../core/notices.js";
import { definePage } from "../core/page.js";
import { go, pageOf, setQuery } from "../core/route.js";
import { merged } from "../core/merge.js";
import { state, workloadLink } from "../parts/badge.js";
import { tabs } from "../parts/choices.js";
import { funnel } from "../parts/funnel.js";
import { scoreTable } from "../parts/scores.js";
import { empty } from "../parts/states.js";
import { evictionIn, suggestions } from "../parts/suggestions.js";
import { table } from "../parts/table.js";
import { startsAbout, timeline } from "../parts/timeline.js";
import { TABS, loadTab, tabOf, tabView } from "../parts/workload-tabs.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {Schemas["WorkloadDetail"]} WorkloadDetail */
/** @typedef {Schemas["NamedWorkloads"]} NamedWorkloads */
/** @typedef {import("../parts/suggestions.js").Trial} Trial */
/** @typedef {import("../core/page.js").Context} Context */
/** @typedef {{workload: WorkloadDetail, ref: string, managed: boolean, explained: Schemas["ExplainAnswer"] | null, refusals: Schemas["RefusalPage"] | null, trial: Trial | null, tab: import("../parts/workload-tabs.js").TabData}} One */
/** @typedef {{one: One | null, group: NamedWorkloads | null}} Data null, null: there is no such workload (any more) */

/** @param {string[]} rest */
const nameOf = (rest) => (rest.length > 1 ? `${rest[0]}/${rest.slice(1).join("/")}` : (rest[0] ?? ""));

const PATIENCE_MS = 300; // what takes longer is drawn when it comes

/** The answer that is on the screen stays until there is a newer one. @type {{id: number, answer: Schemas["ExplainAnswer"]} | null} */
let explainedLast = null;

/** @param {Context} context @returns {Promise<Data>} */
async function load({ route, signal, redraw }) {
  const given = nameOf(route.rest);
  /** @type {NamedWorkloads} */
  let named;
  try {
    named = await get(`/names/${segment(given)}`, {}, signal);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return { one: null, group: null };
    throw error;
  }
  if (named.workloads.length !== 1) return { one: null, group: named };
  const ref = String(named.workloads[0].id);
  const path = `/workloads/${ref}`;
  const open = route.query.get("open");
  const explaining = get(`${path}/explain`, {}, signal);
  const [workload, explained, refusals, tab] = await Promise.all([
    get(path, {}, signal),
    Promise.race([explaining, new Promise((done) => setTimeout(() => done(explainedLast?.id === named.workloads[0].id ? explainedLast.answer : null), PATIENCE_MS))]),
    open ? get(`${path}/refusals/${segment(open)}`, { limit: 100 }, signal).catch(() => null) : null,
    loadTab(path, route.query, signal),
  ]);
  const tried = route.query.get("try");
  const trial = tried ? await tryOut(workload, tried, signal) : null;
  /** @type {One} */
  const one = { workload, ref, managed: named.service !== null, explained, refusals, tab, trial };
  void explaining.then((answer) => {
    explainedLast = { id: workload.id, answer };
    one.explained = answer;
    redraw();
  }, () => {});
  return { one, group: null };
}

/** @param {WorkloadDetail} workload @param {string} patch as JSON @param {AbortSignal} signal @returns {Promise<Trial>} */
async function tryOut(workload, patch, signal) {
  try {
    const tasks = evictionIn(patch);
    if (tasks) return { plan: null, evicts: await send("POST", `/workloads/${workload.id}/preempt`, { tasks, dry_run: true }, signal), trouble: "" };
    const answer = await send("POST", "/plan", merged(workload.spec, JSON.parse(patch)), signal);
    return { plan: answer.plans[0], evicts: null, trouble: "" };
  } catch (error) {
    return { plan: null, evicts: null, trouble: wordsOf(error) };
  }
}

export default definePage({
  title: (route) => nameOf(route.rest),
  load,
  follows: (event, route) => event.workload !== null && event.workload !== undefined && `${event.namespace}/${event.name}` === nameOf(route.rest),
  everyS: 10,
  view: (/** @type {Data} */ data, context) => {
    if (data.one) return oneView(data.one, context);
    return data.group ? groupView(data.group) : missing(nameOf(context.route.rest));
  },
});

/** @param {string} name */
const missing = (name) =>
  html`<h1>${name}</h1>
    ${empty("There is no workload of that name", html`It was never submitted, or it ended so long ago that it was forgotten. <p><a class="btn" href=${`/workloads?search=${encodeURIComponent(name.split("/").at(-1) ?? "")}`}>Find similar names</a></p>`, `dovetail history --match ${name.split("/").at(-1)}`)}`;

/** @param {NamedWorkloads} named */
function groupView(named) {
  const rows = named.workloads;
  const running = rows.filter((row) => row.state === "running").length;
  return html`<h1>${named.typed}</h1>
    <p class="lead">${named.service ? html`The replicas of the service <a class="link" href=${`/services?name=${encodeURIComponent(named.service)}`}>${named.service}</a>` : "A group whose workloads start together"}: ${plural(rows.length, "workload")}, ${count(running)} running.</p>
    <div class="panel">
      ${table({
        columns: [
          { name: "name", title: "Name", cell: (row) => workloadLink(row), value: (row) => row.name },
          { name: "state", title: "State", cell: (row) => state(row.state), value: (row) => row.state },
          { name: "tasks", title: "Tasks", cell: (row) => `${count(row.active)}/${count(row.replicas)}`, isNumber: true },
          { name: "why", title: "Why", cell: (row) => html`<span class="soft">${row.message}</span>`, wraps: true },
        ],
        rows,
        key: (row) => row.id,
        caption: "Workloads of this name",
      })}
    </div>`;
}

/** @param {One} one @param {Context} context */
function oneView(one, context) {
  const { workload, explained, ref } = one;
  const { query } = context.route;
  const explanation = explained?.now ?? explained?.decision?.explanation ?? null;
  return html`<div class="head">
      <div><h1>${workload.namespace}/${workload.name}</h1><p class="lead">${summary(one)}</p></div>
      <div class="actions">${actions(one, context)}</div>
    </div>
    <section class="panel" aria-label="The answer">
      ${timeline(workload)}
      <p class="answer" aria-live="polite">${explained ? explained.answer : html`<span class="soft pulse">Asking why …</span>`} ${startsAbout(workload)}</p>
    </section>
    ${suggestions(explained?.suggestions ?? [], workload, one.managed, query.get("try") ?? "", one.trial)}
    ${explained && explanation ? decided(one, explained, explanation, query) : nothing}
    <section class="panel">
      ${tabs(TABS, tabOf(query), (tab) => setQuery({ tab: tab === "tasks" ? null : tab, offset: null, cursor: null, before: null }))}
      ${tabView(one.tab, workload, ref, query)}
    </section>`;
}

/** @param {One} one */
function summary({ workload, managed }) {
  const asks = Object.entries(workload.spec.resources ?? {}).map(([name, amount]) => `${name} ${Array.isArray(amount) ? amount.join("|") : typeof amount === "object" ? JSON.stringify(amount) : amount}`);
  const gang = /** @type {{min: number, group?: string} | undefined} */ (workload.spec.gang);
  const words = [`${plural(workload.replicas, "task")}${gang ? (gang.min < workload.replicas ? `, at least ${gang.min} together` : " as one gang") : ""}`];
  if (asks.length) words.push(`${asks.join(", ")}${workload.replicas > 1 ? " each" : ""}`);
  words.push(`priority ${workload.priority}`);
  const service = !workload.service ? nothing : managed ? html` · replica of <a class="link" href=${`/services?name=${encodeURIComponent(workload.service)}`}>${workload.service}</a>` : ` · service ${workload.service}`;
  const group = gang?.group ? html` · group <a class="link" href=${pageOf.workload(workload.namespace, gang.group)}>${gang.group}</a>` : nothing;
  return html`${state(workload.state)} · ${words.join(" · ")}${workload.queue ? html` · queue <a class="link" href=${pageOf.queue(workload.queue)}>${workload.queue}</a>` : nothing}${workload.user ? ` · ${workload.user}` : nothing}${service}${group}`;
}

/** @param {One} one @param {Context} context */
function actions({ workload, managed }, context) {
  const name = `${workload.namespace}/${workload.name}`;
  const path = `/workloads/${workload.id}`;
  const cancel = async () => {
    const isGone = await confirm(`Cancel ${name}?`, "Pending tasks are dropped, running tasks are stopped.", "Cancel it");
    if (!isGone) return;
    await attempt(() => send("POST", "/workloads/cancel", { ids: [workload.id], reason: "cancelled from the dashboard" }), `Cancelled ${name}`);
    context.reload();
  };
  const retry = async () => {
    await attempt(() => send("POST", `${path}/retry`, {}), (/** @type {Schemas["RetriedWorkload"]} */ { tasks }) => `${plural(tasks.length, "task")} run${tasks.length === 1 ? "s" : ""} again`);
    context.reload();
  };
  const again = async () => {
    const done = await attempt(() => send("POST", "/workloads", workload.spec), `Submitted ${name} again`);
    if (done) go(pageOf.workload(workload.namespace, workload.name));
    context.reload();
  };
  const isOpen = workload.finished_at === null;
  return html`${isOpen && !managed ? html`<button class="btn danger" @click=${cancel}>Cancel…</button>` : nothing}
    ${workload.failed ? html`<button class="btn" @click=${retry}>Retry ${plural(workload.failed, "failed task")}</button>` : nothing}
    ${!isOpen && !managed ? html`<button class="btn" @click=${again}>Resubmit</button>` : nothing}
    <a class="btn" href=${`/submit?from=${encodeURIComponent(name)}`}>Edit a copy</a>
    <a class="btn" href=${`/what-if?workload=${encodeURIComponent(name)}`}>What-if</a>
    <button class="btn quiet" title="dovetail describe" @click=${() => copy(`dovetail describe ${name}`)}>Copy command</button>`;
}

/** @param {One} one @param {Schemas["ExplainAnswer"]} explained @param {Schemas["DecisionExplanation"]} explanation @param {URLSearchParams} query */
function decided({ workload, refusals }, explained, explanation, query) {
  const left = explanation.funnel.at(-1)?.remaining ?? explanation.nodes;
  const chosen = explained.now ? null : (explained.decision?.node ?? null);
  const ref = `${workload.namespace}/${workload.name}`;
  const opening = { open: query.get("open") ?? "", refusals, onOpen: (/** @type {string | null} */ step) => setQuery({ open: step }), whyNot: (/** @type {string} */ node) => `/why-not?workload=${encodeURIComponent(ref)}&node=${encodeURIComponent(node)}` };
  const { core } = explained;
  return html`<div class=${core.length || explanation.shortages.length ? "grid g2" : ""}>
      <section class="panel"><h2>From ${plural(explanation.nodes, "node")} to ${left ? count(left) : "none"} <small>${explained.now ? "now" : explained.decision ? `task ${explained.decision.replica}, when it was decided` : ""}, profile ${explanation.profile}</small></h2>${funnel(explanation, opening)}${explanation.notes.map((note) => html`<p class="soft">${note}</p>`)}</section>
      ${core.length || explanation.shortages.length ? html`<section class="panel">${core.length ? coreTable(core) : nothing}${shortages(explanation, opening.whyNot)}</section>` : nothing}
    </div>
    ${explanation.best.length ? html`<section class="panel"><h2>The best nodes <small>points by score, with their weights</small></h2>${scoreTable(explanation, chosen)}</section>` : nothing}`;
}

/** @param {Schemas["CoreRequirement"][]} core */
const coreTable = (core) =>
  html`<h2 class="title">No node satisfies these together</h2>
    <table><thead><tr><th scope="col">Requirement</th><th scope="col">Field</th><th scope="col" class="num">Have it</th></tr></thead>
      <tbody>${core.map((one) => html`<tr><td class="wrap">${one.requirement}</td><td class="mono">${one.field}</td><td class="num">${plural(one.nodes_alone, "node")}</td></tr>`)}</tbody></table>`;

/** @param {Schemas["DecisionExplanation"]} explanation @param {(node: string) => string} whyNot */
function shortages({ shortages: found }, whyNot) {
  if (found.length === 0) return nothing;
  return html`<h2 class="title">What is short on the nearest node</h2>
    <table><thead><tr><th scope="col">Resource</th><th scope="col" class="num">Needed</th><th scope="col" class="num">Free</th><th scope="col" class="num">Short by</th><th scope="col">Node</th></tr></thead>
      <tbody>${found.map((one) => html`<tr><td>${one.resource}</td><td class="num">${one.needed}</td><td class="num">${one.best_free}</td><td class="num">${one.short_by}</td><td><a class="link" href=${whyNot(one.best_node)}>${one.best_node}</a></td></tr>`)}</tbody></table>`;
}
