/** Policies: what they say and how they count now, whom they apply to, who violates them, who changed them. */
import { html, nothing } from "../core/view.js";
import { address, get, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { hereWith, setQuery } from "../core/route.js";
import { ago, count, number, plural, time } from "../core/format.js";
import { nodeLink, workloadLink } from "../parts/badge.js";
import { tabs } from "../parts/choices.js";
import { askForm } from "../parts/form_dialog.js";
import { getPage, serverList } from "../parts/server_list.js";
import { empty } from "../parts/states.js";
import { table } from "../parts/table.js";
import "../parts/expression_check.js";

/** @typedef {import("../types").Schemas["PolicyDetail"]} PolicyDetail */
/** @typedef {import("../types").Schemas["PolicyVersion"]} PolicyVersion */
/** @typedef {import("../types").Schemas["ViolationRow"]} ViolationRow */
/** @typedef {import("../types").Schemas["ConstraintInForce"]} ConstraintInForce */
/** @typedef {import("../parts/server_list.js").ListPage<PolicyDetail> & {one: PolicyDetail | null, versions: PolicyVersion[], violations: ViolationRow[]}} PolicyData */

const PATH = "/policies";
const SORT = "name";

/** @param {PolicyDetail["applies_to"]} to */
const reach = (to) => [...to.namespaces.map((one) => `namespace ${one}`), ...to.services.map((one) => `service ${one}`), ...to.workloads.map((one) => `workload ${one}`)].join(", ") || "work that names it";

/** @param {PolicyDetail} row */
const says = (row) => [...row.in_force.map((one) => `${one.asked} ${one.expression}`), row.affinity ? plural(row.affinity, "affinity rule") : "", row.spread ? plural(row.spread, "spread rule") : "", row.conflicts ? plural(row.conflicts, "conflict") : ""].filter(Boolean).join("; ");

/** @type {import("../parts/table.js").Column<PolicyDetail>[]} */
const COLUMNS = [
  { name: "name", title: "Policy", sorts: true, cell: (row) => html`<a class="link" href=${hereWith({ name: row.name, tab: null })}>${row.name}</a>`, value: (row) => row.name },
  { name: "version", title: "Version", sorts: true, isNumber: true, cell: (row) => row.version, value: (row) => row.version },
  { name: "applies_to", title: "Applies to", wraps: true, cell: (row) => reach(row.applies_to), value: (row) => reach(row.applies_to) },
  { name: "workloads", title: "Workloads", sorts: true, isNumber: true, cell: (row) => count(row.workloads), value: (row) => row.workloads },
  { name: "now", title: "Now", cell: (row) => (row.in_force.some((one) => one.because) ? html`<span class="warn">adjusted</span>` : html`<span class="soft">as written</span>`), value: (row) => row.in_force.some((one) => one.because) },
  { name: "says", title: "Says", wraps: true, cell: (row) => html`<span class="mono">${says(row)}</span>`, value: says },
  { name: "set_at", title: "Set", sorts: true, isNumber: true, cell: (row) => ago(row.set_at), value: (row) => row.set_at },
];

/** @type {import("../parts/table.js").Column<ViolationRow>[]} */
const VIOLATIONS = [
  { name: "task", title: "Task", cell: (row) => workloadLink(row, `${row.namespace}/${row.name}.${row.replica}`), value: (row) => `${row.namespace}/${row.name}.${row.replica}` },
  { name: "node", title: "Node", cell: (row) => nodeLink(row.node), value: (row) => row.node },
  { name: "why", title: "Why it may not be there", wraps: true, cell: (row) => row.why, value: (row) => row.why },
];

/** @type {import("../parts/table.js").Column<PolicyVersion>[]} */
const VERSIONS = [
  { name: "version", title: "Version", isNumber: true, cell: (row) => row.version, value: (row) => row.version },
  { name: "at", title: "When", cell: (row) => time(row.at), value: (row) => row.at },
  { name: "author", title: "By", cell: (row) => row.author || html`<span class="faint">–</span>`, value: (row) => row.author },
  { name: "changed", title: "Changed", wraps: true, cell: (row) => (row.removed ? html`<span class="bad">removed</span>` : row.changed.join(", ") || html`<span class="faint">–</span>`), value: (row) => row.changed.join(" ") },
  { name: "note", title: "Note", wraps: true, cell: (row) => row.note, value: (row) => row.note },
  { name: "definition", title: "", cell: (row) => (row.definition ? html`<details><summary class="link">what it said</summary><pre>${JSON.stringify(row.definition, null, 2)}</pre></details>` : nothing) },
];

/** @param {ConstraintInForce} one */
function constraint(one) {
  const counts = one.demand === "off" ? "off" : one.demand === "require" ? "required" : `${one.demand}, weight ${number(one.weight ?? 0)}`;
  return html`<div class="rule"><p><span class="tag">${one.asked}</span> <code class="mono">${one.expression}</code> ${one.name ? html`<span class="soft">(${one.name})</span>` : nothing}</p>
    ${one.because ? html`<p class="warn">Now ${counts}, since ${time(one.since)}: ${one.because}</p>` : html`<p class="soft">Counts as written${one.asked === "require" ? "" : `: ${counts}`}.</p>`}
    ${one.adjust.map((rule) => html`<p class=${rule.on ? "warn" : "soft"}>${rule.on ? "● " : "○ "}when <code class="mono">${rule.when}</code>: ${rule.then}${rule.until ? html`, until <code class="mono">${rule.until}</code>` : nothing}${rule.values ? ` (${rule.values})` : ""}</p>`)}</div>`;
}

/** @param {PolicyDetail | null} before @param {() => void} reload */
async function edit(before, reload) {
  const answer = await askForm({
    title: before ? `Change ${before.name}` : "Set a policy",
    detail: "All waiting work is reconsidered at once. What runs is not stopped; violations tell where it may not be now.",
    fields: [
      { name: "definition", label: "Definition, as YAML", kind: "area", required: true, value: before ? JSON.stringify(before.definition, null, 2) : 'name: nvme-only\nrequire: node.labels.disk == "nvme"\napplies_to:\n  namespaces: [db-*]\n' },
      { name: "note", label: "Note, for the history" },
    ],
    action: before ? "Change" : "Set",
    run: ({ definition, note }) => {
      const name = before?.name ?? /^\s*"?name"?\s*:\s*"?([^"\s,]+)/m.exec(definition)?.[1] ?? "";
      if (!name) throw new Error("name: is missing; the first line of a policy says its name");
      return send("PUT", address(`/policies/${segment(name)}`, { note, author: "dashboard" }), definition);
    },
    done: (/** @type {import("../types").Schemas["ChangedPolicy"]} */ changed) => `${changed.name}: ${changed.changed ? `version ${changed.version}` : "nothing has changed"}; ${plural(changed.violating, "task")} violate it`,
  });
  if (!answer) return;
  setQuery({ name: answer.name });
  reload();
}

/** @param {PolicyDetail} one @param {"POST" | "DELETE"} method @param {() => void} reload */
async function attachment(one, method, reload) {
  const isMore = method === "POST";
  const answer = await askForm({
    title: isMore ? `Attach ${one.name}` : `Detach ${one.name}`,
    detail: isMore ? "It applies to these from now on." : `It applies to: ${reach(one.applies_to)}.`,
    fields: [
      { name: "kind", label: "What", kind: "choice", options: [{ value: "namespaces", words: "namespaces (patterns such as team-*)" }, { value: "services", words: "services" }, { value: "workloads", words: "workloads" }] },
      { name: "names", label: "Names, divided by commas", required: true, hint: isMore ? "shop/cart" : "" },
    ],
    action: isMore ? "Attach" : "Detach",
    run: ({ kind, names }) => send(method, `/policies/${segment(one.name)}/attachments?author=dashboard`, { [kind]: names.split(",").map((name) => name.trim()).filter(Boolean) }),
    done: `${one.name} is changed`,
  });
  if (answer) reload();
}

/** @param {PolicyDetail} one @param {() => void} reload */
async function remove(one, reload) {
  const done = await askForm({
    title: `Remove policy ${one.name}?`,
    detail: `It applies to ${plural(one.workloads, "unfinished workload")}. Its versions stay in the history.`,
    fields: [{ name: "note", label: "Note, for the history" }],
    action: "Remove",
    isDanger: true,
    run: async ({ note }) => {
      await send("DELETE", address(`/policies/${segment(one.name)}`, { note, author: "dashboard" }));
      return true;
    },
    done: `${one.name} is removed`,
  });
  if (!done) return;
  setQuery({ name: null });
  reload();
}

/** @param {PolicyData} data @param {PolicyDetail} one @param {string} tab @param {() => void} reload */
function detail(data, one, tab, reload) {
  const choices = /** @type {const} */ ([["rules", "As it counts now"], ["violations", `Violations ${count(data.violations.length)}`], ["versions", `Versions ${count(data.versions.length)}`], ["definition", "Definition"]]);
  const shown = {
    rules: () => html`${one.in_force.map(constraint)}${says({ ...one, in_force: [] }) ? html`<p>${says({ ...one, in_force: [] })}; see its definition.</p>` : nothing}`,
    violations: () => table({ columns: VIOLATIONS, rows: data.violations, key: (row) => `${row.workload}.${row.replica}`, caption: `Violations of ${one.name}`, empty: empty("No task violates it") }),
    versions: () => table({ columns: VERSIONS, rows: data.versions, key: (row) => row.version, caption: `Versions of ${one.name}` }),
    definition: () => html`<pre>${JSON.stringify(one.definition, null, 2)}</pre>`,
  };
  return html`<div class="panel">
    <div class="head"><div><h2>${one.name} <small>version ${one.version}, set ${ago(one.set_at)}</small></h2><p class="soft">${one.description ? html`${one.description}<br />` : nothing}Applies to ${reach(one.applies_to)}; ${plural(one.workloads, "unfinished workload")}.</p></div>
      <div class="actions"><button class="btn" @click=${() => edit(one, reload)}>Change…</button><button class="btn" @click=${() => attachment(one, "POST", reload)}>Attach…</button><button class="btn" @click=${() => attachment(one, "DELETE", reload)}>Detach…</button><button class="btn danger" @click=${() => remove(one, reload)}>Remove…</button><button class="btn quiet" aria-label="Close" @click=${() => setQuery({ name: null, tab: null })}>×</button></div></div>
    ${tabs(choices, tab, (value) => setQuery({ tab: value === "rules" ? null : value }))}
    ${(shown[/** @type {keyof typeof shown} */ (tab)] ?? shown.rules)()}
  </div>`;
}

export default definePage({
  title: (route) => (route.query.get("name") ? `Policy ${route.query.get("name")}` : "Policies"),
  everyS: 10,
  /** @returns {Promise<PolicyData>} */
  load: async ({ route, signal }) => {
    const name = route.query.get("name");
    const at = `/policies/${segment(name ?? "")}`;
    const [list, one, versions, violations] = await Promise.all([getPage(PATH, route.query, SORT, signal), name ? get(at, {}, signal) : null, name ? get(`${at}/versions`, {}, signal) : { items: [] }, name ? get(`${at}/violations`, {}, signal) : { items: [] }]);
    return { ...list, one, versions: versions.items, violations: violations.items };
  },
  view: (data, { route, reload }) => {
    const query = route.query;
    const adjusted = data.counts.adjusted ? `, ${count(data.counts.adjusted)} adjusted now` : "";
    return html`<div class="head"><div><h1>Policies</h1><p class="lead">${data.total ? `${plural(data.total, "policy", "policies")}${adjusted}: rules about nodes, written once for many workloads.` : "Rules about nodes, written once for many workloads."}</p></div><div class="actions"><button class="btn primary" @click=${() => edit(null, reload)}>Set a policy…</button></div></div>
      ${data.one ? detail(data, data.one, query.get("tab") ?? "rules", reload) : nothing}
      ${serverList({ path: PATH, data, query, sort: SORT, columns: COLUMNS, key: (row) => row.name, caption: "Policies", find: "Find by name or rule", notFound: "No policy says that", none: empty("No policies yet", nothing, `dovetail policy set nvme-only --require 'node.labels.disk == "nvme"' --namespace 'db-*'`), picked: (row) => row.name === data.one?.name })}
      <div class="panel"><h2>Check an expression</h2><expression-check></expression-check></div>`;
  },
});
