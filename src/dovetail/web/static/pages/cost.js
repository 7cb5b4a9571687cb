/** What work and machines cost: month to date, by whom, what it will be, and against budgets. */
import { html, nothing } from "../core/view.js";
import { address, get, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { setQuery } from "../core/route.js";
import { clock, percent, plural, time } from "../core/format.js";
import { attempt, confirm } from "../core/notices.js";
import { nodeLink, state } from "../parts/badge.js";
import { segments } from "../parts/choices.js";
import { askForm } from "../parts/form_dialog.js";
import { empty } from "../parts/states.js";
import { exportButtons, sorted, table } from "../parts/table.js";
import { meter } from "../charts/bars.js";
import { dayBars } from "../charts/days.js";

/** @typedef {import("../types").Schemas["CostReport"]} CostReport */
/** @typedef {import("../types").Schemas["CostRow"]} CostRow */
/** @typedef {import("../types").Schemas["BudgetRow"]} BudgetRow */
/** @typedef {import("../types").Schemas["CostForecast"]} CostForecast */
/** @typedef {{report: CostReport, forecast: CostForecast, budgets: BudgetRow[]}} CostData */

const BY = /** @type {const} */ ([["namespace", "Tenant"], ["backend", "Backend"], ["user", "User"], ["queue", "Queue"], ["workload", "Workload"], ["node", "Node"]]);
/** @type {Record<string, string>} */
const STATES = { ok: "ok", warning: "warn", spent: "bad" };

/** @param {number} amount @param {string} currency */
const money = (amount, currency) => new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: Math.abs(amount) < 10 ? 4 : 2 }).format(amount);

/** @param {string} by @param {CostRow} row */
function who(by, row) {
  if (!row.name) return html`<span class="soft">${by === "user" ? "no user" : by === "workload" ? "older months" : "none"}</span>`;
  if (by === "node") return nodeLink(row.name);
  if (by === "backend") return html`<a class="link" href=${`/backends?name=${encodeURIComponent(row.name)}`}>${row.name}</a>`;
  if (by === "namespace") return html`<a class="link" href=${`/workloads?namespace=${encodeURIComponent(row.name)}`}>${row.name}</a>`;
  if (by === "workload") return html`<a class="link" href=${`/workload/${encodeURIComponent(row.namespace ?? "default")}/${encodeURIComponent(row.name)}`}>${row.namespace}/${row.name}</a>`;
  return row.name;
}

/** @param {string} by @param {CostRow[]} rows @returns {import("../parts/table.js").Column<CostRow>[]} */
function columnsFor(by, rows) {
  const most = Math.max(...rows.map((row) => row.cost + (row.idle ?? 0)), 1e-9);
  const hasIdle = by === "node" || by === "backend";
  return [
    { name: "name", title: BY.find(([value]) => value === by)?.[1] ?? by, sorts: true, cell: (row) => who(by, row), value: (row) => row.name },
    { name: "cost", title: hasIdle ? "Work" : "Cost", sorts: true, isNumber: true, cell: (row) => money(row.cost, row.currency), value: (row) => row.cost },
    ...(hasIdle ? [/** @type {import("../parts/table.js").Column<CostRow>} */ ({ name: "idle", title: "Nobody used", sorts: true, isNumber: true, cell: (row) => money(row.idle ?? 0, row.currency), value: (row) => row.idle })] : []),
    { name: "share", title: "", cell: (row) => meter(row.cost / most, `cost of ${row.name}`, (row.idle ?? 0) / most) },
    { name: "currency", title: "Currency", cell: (row) => row.currency, value: (row) => row.currency },
  ];
}

/** @param {BudgetRow | null} before @param {() => void} reload */
async function setBudget(before, reload) {
  const answer = await askForm({
    title: before ? `Budget of ${before.namespace}` : "Set a budget",
    detail: "What the work of a namespace may cost in a month.",
    fields: [
      ...(before ? [] : [{ name: "namespace", label: "Namespace", required: true }]),
      { name: "amount", label: "Amount in a month", kind: /** @type {const} */ ("number"), required: true, value: before ? String(before.amount) : "" },
      { name: "currency", label: "Currency", value: before?.currency ?? "USD", required: true },
      { name: "on_limit", label: "When it is spent", kind: /** @type {const} */ ("choice"), value: before?.on_limit ?? "warn", options: [{ value: "warn", words: "say so" }, { value: "refuse", words: "refuse new work" }] },
    ],
    action: "Set",
    run: ({ namespace, amount, currency, on_limit }) => send("PUT", address(`/budgets/${segment(before?.namespace ?? namespace)}`, { by: "dashboard" }), { amount: Number(amount), currency, on_limit }),
    done: (/** @type {BudgetRow} */ row) => `${row.namespace}: ${money(row.amount, row.currency)} a month`,
  });
  if (answer) reload();
}

/** @param {BudgetRow} row @param {() => void} reload */
async function removeBudget(row, reload) {
  const isSure = await confirm(`Remove the budget of ${row.namespace}?`, "Its work is no longer warned about or refused.", "Remove");
  if (isSure && (await attempt(async () => (await send("DELETE", address(`/budgets/${segment(row.namespace)}`, { by: "dashboard" })), true), `${row.namespace} has no budget`))) reload();
}

/** @param {() => void} reload @returns {import("../parts/table.js").Column<BudgetRow>[]} */
const budgetColumns = (reload) => [
  { name: "namespace", title: "Tenant", cell: (row) => row.namespace, value: (row) => row.namespace },
  { name: "state", title: "State", cell: (row) => state(row.state, STATES[row.state]), value: (row) => row.state },
  { name: "spent", title: "Spent", isNumber: true, cell: (row) => money(row.spent, row.currency), value: (row) => row.spent },
  { name: "amount", title: "Budget", isNumber: true, cell: (row) => money(row.amount, row.currency), value: (row) => row.amount },
  { name: "percent", title: "", cell: (row) => html`<span class="use">${meter(row.percent / 100, `spent of the budget of ${row.namespace}`)}<span class="soft">${percent(row.percent / 100)}</span></span>`, value: (row) => row.percent },
  { name: "per_hour", title: "Now", isNumber: true, cell: (row) => `${money(row.per_hour, row.currency)}/h`, value: (row) => row.per_hour },
  { name: "spent_at", title: "Spent at", cell: (row) => (row.spent_at === null ? html`<span class="soft">not this month</span>` : time(row.spent_at)), value: (row) => row.spent_at },
  { name: "actions", title: "", cell: (row) => (row.in_settings ? html`<span class="soft">in the settings</span>` : html`<span class="row-actions"><button class="btn quiet" aria-label=${`Change the budget of ${row.namespace}`} @click=${() => setBudget(row, reload)}>Change</button><button class="btn quiet" aria-label=${`Remove the budget of ${row.namespace}`} @click=${() => removeBudget(row, reload)}>Remove</button></span>`) },
];

const FEWEST_DAYS = 3; // with fewer nobody knows how much days differ

/** @param {CostData} data */
function totals({ report, forecast }) {
  return html`<div class="grid node-use">${report.totals.flatMap((row) => {
    const future = forecast.items.find((one) => one.currency === row.currency);
    return [
      html`<div class="panel stat"><div class="k">This month, ${row.currency}</div><div class="v">${money(row.total ?? row.work, row.currency)}</div>${meter(row.total ? row.work / row.total : 1, "used by work")}<div class="soft">${money(row.work, row.currency)} work, ${money(row.idle ?? 0, row.currency)} that nobody used</div></div>`,
      future ? html`<div class="panel stat"><div class="k">At the end of the month</div><div class="v">${money(future.expected, row.currency)}</div><div class="soft">${future.days < FEWEST_DAYS ? "if all goes on as it is now" : `${money(future.low, row.currency)} to ${money(future.high, row.currency)} in four of five cases`}</div></div>` : nothing,
      future ? html`<div class="panel stat"><div class="k">Now</div><div class="v">${money(future.per_hour, row.currency)} <small>an hour</small></div>${future.mean_day === null ? nothing : html`<div class="soft">${money(future.mean_day, row.currency)} a day before</div>`}</div>` : nothing,
    ];
  })}</div>`;
}

export default definePage({
  title: () => "Cost",
  everyS: 10,
  /** @returns {Promise<CostData>} */
  load: async ({ route, signal }) => {
    const [report, forecast, budgets] = await Promise.all([get("/cost/report", { month: route.query.get("month") }, signal), get("/cost/forecast", {}, signal), get("/budgets", {}, signal)]);
    return { report, forecast, budgets: budgets.items };
  },
  view: (data, { route, reload }) => {
    const { report, budgets } = data;
    const by = /** @type {typeof BY[number][0]} */ (route.query.get("by") ?? "namespace");
    const sort = route.query.get("sort") ?? "-cost";
    const all = report.by[by] ?? [];
    const columns = columnsFor(by, all);
    const over = budgets.filter((row) => row.state !== "ok");
    const budgetsHere = budgetColumns(reload);
    return html`<div class="head"><div><h1>Cost</h1><p class="lead">${report.month} until ${clock(report.at)}. Days and months are in UTC.</p></div>
        <div class="actions"><label for="month" class="sr">Month</label><input id="month" type="month" .value=${report.month} @change=${(/** @type {Event} */ event) => setQuery({ month: /** @type {HTMLInputElement} */ (event.target).value })} /><button class="btn primary" @click=${() => setBudget(null, reload)}>Set a budget…</button></div></div>
      ${over.map((row) => html`<div class=${row.state === "spent" ? "notice bad" : "notice"}><span class=${STATES[row.state]}>!</span><span class="grow"><b>${row.namespace}</b> ${row.state === "spent" ? "has spent its budget" : "has nearly spent its budget"}: ${money(row.spent, row.currency)} of ${money(row.amount, row.currency)}.</span></div>`)}
      ${report.totals.length ? totals(data) : nothing}
      ${report.days.length ? html`<div class="panel"><h2>By day</h2>${dayBars(report.days, money)}</div>` : nothing}
      <div class="panel"><h2>Budgets</h2>${table({ columns: budgetsHere, rows: budgets, key: (row) => row.namespace, caption: "Budgets", empty: html`<p class="soft">No namespace has a budget.</p>` })}</div>
      <div class="panel">
        <div class="tools">${segments(BY, by, (value) => setQuery({ by: value === "namespace" ? null : value }), "By")}<span class="grow"></span>${exportButtons(columns, () => all, `cost-${report.month}-by-${by}`)}</div>
        ${table({ columns, rows: sorted(all, columns, sort), key: (row) => `${row.name} ${row.currency} ${row.namespace ?? ""} ${row.workload ?? ""}`, sort, onSort: (next) => setQuery({ sort: next }), caption: `Cost by ${by}`, empty: empty("Nothing has cost anything", "Nodes have prices where their backends or their definitions name them.", "dovetail cost --help") })}
        ${all.length >= 500 ? html`<p class="soft">The largest ${plural(all.length, "row")}.</p>` : nothing}
      </div>`;
  },
});
