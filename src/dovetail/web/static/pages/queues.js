/** The tree of queues: what each is guaranteed, holds, borrows and may hold at most; under it who waits, and until when. */
import { html, nothing } from "../core/view.js";
import { get } from "../core/api.js";
import { amount, count, duration, number, percent, plural, time } from "../core/format.js";
import { definePage } from "../core/page.js";
import { pageOf, setQuery } from "../core/route.js";
import { queueBar } from "../charts/queue-bar.js";
import { workloadLink } from "../parts/badge.js";
import { searchField } from "../parts/choices.js";
import { empty, skeleton } from "../parts/states.js";
import { exportButtons, pager, sorted, table } from "../parts/table.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {Schemas["QueueRow"]} QueueRow */
/** @typedef {Schemas["QueueItem"]} QueueItem */
/** @typedef {{tree: Schemas["QueuesAnswer"], waiting: Schemas["QueuePage"] | null}} Data `waiting`: null until it is known */

const LIMIT = 50;
const MOST = 10_000;

/** The resources that somebody watches first. @param {QueueRow} row */
const telling = (row) => Object.entries(row.resources).filter(([name]) => name !== "slots").sort(([a], [b]) => Number(b === row.dominant) - Number(a === row.dominant));

/** `gpu 12 of 8, max 16`, as the command line writes it. @param {string} name @param {Schemas["QueueResource"]} use */
const held = (name, use) => `${name} ${amount(name, use.used)}${use.guaranteed ? ` of ${amount(name, use.guaranteed)}` : ""}${use.maximum === null ? "" : `, max ${amount(name, use.maximum)}`}`;

/** The same with what is borrowed beside what is its own: `480 + 4,481 borrowed, max 8,000`. @param {string} name @param {Schemas["QueueResource"]} use */
function heldInParts(name, use) {
  if (!use.borrowed) return held(name, use).slice(name.length + 1);
  const most = use.maximum === null ? "" : `, max ${amount(name, use.maximum)}`;
  return html`${amount(name, use.used - use.borrowed)} <span class="warn">+ ${amount(name, use.borrowed)} borrowed</span>${most}`;
}

/** With history, where that counts. @param {{share: number, share_with_past?: number}} row */
const past = ({ share, share_with_past: with_past }) => (with_past === undefined || with_past === share ? nothing : html` <span class="soft" title="with what it held before, as fair sharing counts it">(${percent(with_past)})</span>`);

/** @param {QueueRow} row @param {string} chosen */
function queueLine(row, chosen) {
  const isChosen = row.path === chosen;
  const toggle = () => setQuery({ queue: isChosen ? null : row.path, offset: null });
  return html`<tr class=${isChosen ? "pick" : ""}>
    <th scope="row"><button class="queue-name" aria-pressed=${String(isChosen)} .style=${`padding-left:${(row.depth - 1) * 18}px`} @click=${toggle}>${row.depth > 1 ? html`<span class="faint">└ </span>` : nothing}${row.name}</button></th>
    <td class="num">${number(row.weight)}</td>
    <td class="num">${percent(row.share)}${past(row)}</td>
    <td class="bars">${telling(row).slice(0, 3).map(([name, use]) => html`<span class="queue-use"><span class="soft">${name}</span>${queueBar(use, `${row.path}: ${held(name, use)}`)}<span class="nowrap">${heldInParts(name, use)}</span></span>`)}</td>
    <td class="num"><a class="link" href=${`/workloads?state=pending&queue=${encodeURIComponent(row.path)}`}>${count(row.waiting)}</a>${row.max_workloads === null ? nothing : html`<span class="faint"> of ${count(row.max_workloads)}</span>`}</td>
  </tr>`;
}

/** @param {Schemas["QueuesAnswer"]} tree @param {string} chosen */
const treeTable = (tree, chosen) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="The tree of queues"><table>
    <thead><tr><th scope="col">Queue</th><th scope="col" class="num">Weight</th><th scope="col" class="num">Share</th><th scope="col">Holds</th><th scope="col" class="num">Waiting</th></tr></thead>
    <tbody>${tree.queues.map((row) => queueLine(row, chosen))}</tbody>
  </table></div>
  <p class="legend"><span><i class="own"></i>within its guarantee</span><span><i class="borrowed"></i>borrowed</span><span><i class="mark"></i>end of its guarantee</span><span class="faint">a bar is as long as its maximum, or as the cluster</span></p>`;

/** @param {Schemas["LoanRow"]} loan */
const loanWords = (loan) => {
  const parts = (/** @type {Schemas["LoanPart"][]} */ list, /** @type {string} */ verb) => list.map((one) => `${one.queue} ${verb} ${amount(loan.resource, one.amount)}`).join(", ");
  return `${loan.resource}: ${parts(loan.borrowers, "borrows")}${loan.lenders.length ? `; ${parts(loan.lenders, "lends")}` : ""}`;
};

/** @type {import("../parts/table.js").Column<QueueItem>[]} */
const WAITING = [
  { name: "position", title: "#", cell: (row) => row.position ?? html`<span class="faint" title="It waits for other work, for its own limit or for its next try">–</span>`, value: (row) => row.position, isNumber: true },
  { name: "name", title: "Name", cell: (row) => workloadLink(row), value: (row) => `${row.namespace}/${row.name}` },
  { name: "queue", title: "Queue", cell: (row) => html`<a class="link" href=${pageOf.queue(row.queue)}>${row.queue}</a>`, value: (row) => row.queue },
  { name: "priority", title: "Priority", cell: (row) => html`${row.priority}${row.promoted_from ? html` <span class="soft" title=${`was ${row.promoted_from} when it was submitted`}>↑</span>` : nothing}`, value: (row) => row.priority },
  { name: "tasks", title: "Tasks", cell: (row) => html`${count(row.pending)}<span class="faint">/${count(row.replicas)}</span>`, value: (row) => row.pending, isNumber: true },
  { name: "waited", title: "Waited", cell: (row) => duration(row.waited_s), value: (row) => row.waited_s, isNumber: true },
  { name: "starts", title: "Starts about", cell: (row) => starts(row), value: (row) => row.starts_at },
  { name: "why", title: "Why", cell: (row) => html`<span class="soft">${row.message || row.waits_for}</span>`, value: (row) => row.message || row.waits_for, wraps: true },
];

/** @param {QueueItem} row */
const starts = (row) => (row.starts_at === null ? html`<span class="faint">not known</span>` : html`${time(row.starts_at)}${row.starts_early === null ? nothing : html` <span class="soft">(${time(row.starts_early)}–${time(row.starts_late)})</span>`}`);

/** @type {import("../parts/table.js").Column<Schemas["TenantRow"]>[]} */
const TENANTS = [
  { name: "tenant", title: "Tenant", cell: (row) => row.tenant || "(none)", value: (row) => row.tenant, sorts: true },
  { name: "weight", title: "Weight", cell: (row) => number(row.weight), value: (row) => row.weight, isNumber: true, sorts: true },
  { name: "share", title: "Holds now", cell: (row) => html`${percent(row.share, 1)}${past(row)}`, value: (row) => row.share, isNumber: true, sorts: true },
  { name: "deviation", title: "From its fair share", cell: (row) => html`<span class=${row.deviation > 0.5 ? "warn" : ""}>${row.deviation > 0 ? "+" : ""}${percent(row.deviation)}</span>`, value: (row) => row.deviation, isNumber: true, sorts: true },
];

/** What the address asks the server for. @param {URLSearchParams} query */
const wanted = (query) => ({ queue: query.get("queue"), search: query.get("search") });

/** Everybody who waits, as the address means it. @param {URLSearchParams} query @returns {Promise<QueueItem[]>} */
async function everyOne(query) {
  /** @type {QueueItem[]} */
  const found = [];
  for (;;) {
    const page = await get("/queue", { ...wanted(query), limit: MOST, offset: found.length });
    found.push(...page.items);
    if (page.items.length < MOST) return found;
  }
}

/** Predicting starts takes a while where thousands wait: the tree does not wait for it, and the last answer stays meanwhile. @type {{asked: string, page: Schemas["QueuePage"]} | null} */
let waitingLast = null;
const PATIENCE_MS = 300;

export default definePage({
  title: (route) => (route.query.get("queue") ? `Queue ${route.query.get("queue")}` : "Queues"),
  load: async ({ route, signal, redraw }) => {
    const query = { ...wanted(route.query), limit: LIMIT, offset: route.query.get("offset") };
    const asked = JSON.stringify(query);
    const asking = get("/queue", query, signal);
    const old = waitingLast?.asked === asked ? waitingLast.page : null;
    const [tree, waiting] = await Promise.all([get("/queues", {}, signal), Promise.race([asking, new Promise((done) => setTimeout(() => done(old), PATIENCE_MS))])]);
    const data = /** @type {Data} */ ({ tree, waiting });
    void asking.then((page) => {
      waitingLast = { asked, page };
      data.waiting = page;
      redraw();
    }, () => {});
    return data;
  },
  follows: (event) => ["submitted", "placed", "preempted", "succeeded", "failed", "cancelled"].includes(event.kind),
  atMostEveryMs: 3000,
  everyS: 15,
  view: ({ tree, waiting }, context) => {
    const { query } = context.route;
    const chosen = query.get("queue") ?? "";
    const offset = Number(query.get("offset") ?? 0);
    const all = tree.queues.filter((row) => row.depth === 1).reduce((sum, row) => sum + row.waiting, 0);
    return html`<h1>Queues</h1>
      <p class="lead">${plural(tree.queues.length, "queue")}, ${plural(all, "workload")} waiting.</p>
      <section class="panel" aria-label="The tree">${treeTable(tree, chosen)}${tree.loans.map((loan) => html`<p>${loanWords(loan)}</p>`)}</section>
      <section class="panel">
        <h2>Who waits ${chosen ? html`<small>in ${chosen} and below</small>` : nothing}</h2>
        <div class="tools">${searchField(query.get("search") ?? "", (text) => setQuery({ search: text, offset: null }), "Name contains")}${chosen ? html`<button class="btn" @click=${() => setQuery({ queue: null, offset: null })}>All queues</button>` : nothing}<span class="grow"></span>${exportButtons(WAITING, () => everyOne(query), "waiting")}</div>
        ${waiting === null ? skeleton(4) : table({ columns: WAITING, rows: waiting.items, key: (row) => row.id, caption: "Who waits", empty: empty(chosen || query.get("search") ? "Nobody like that waits" : "Nothing waits", nothing, "dovetail queue") })}
        ${waiting?.items.length ? pager({ offset, limit: LIMIT, total: waiting.total, onGo: (next) => setQuery({ offset: next || null }) }) : nothing}
      </section>
      ${tree.tenants.length ? html`<section class="panel"><h2>Tenants <small>by ${tree.fair_between}: what each holds, against its fair part by weight</small></h2>${table({ columns: TENANTS, rows: sorted(tree.tenants, TENANTS, query.get("tenants") ?? "-share"), key: (row) => row.tenant, sort: query.get("tenants") ?? "-share", onSort: (sort) => setQuery({ tenants: sort }), caption: "Tenants" })}</section>` : nothing}`;
  },
});
