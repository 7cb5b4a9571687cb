/** One node: what it is, what runs there, what happened to it. */
import { html, nothing } from "../core/view.js";
import { get, getShared, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { go, setQuery } from "../core/route.js";
import { ago, amount, bytes, count, duration, percent, plural, time } from "../core/format.js";
import { toast } from "../core/notices.js";
import { meter } from "../charts/bars.js";
import { state, workloadLink } from "../parts/badge.js";
import { tabs } from "../parts/choices.js";
import { askForm } from "../parts/form_dialog.js";
import { commandToCopy, empty } from "../parts/states.js";
import { exportButtons, table } from "../parts/table.js";
import { labelTags, nodeButtons, nodeState } from "../parts/node_actions.js";
import { inventoryPanel } from "../parts/node_inventory.js";
import { nodeTrends } from "../parts/node_trends.js";
import { rangeOf } from "../parts/time_range.js";

/** @typedef {import("../types").Schemas["NodeDetail"]} NodeDetail */
/** @typedef {import("../types").Schemas["NodeTask"]} NodeTask */
/** @typedef {import("../types").Schemas["HistoryRow"]} HistoryRow */
/** @typedef {import("../types").Schemas["TrendAnswer"]} TrendAnswer */
/** @typedef {{trends: TrendAnswer, node: NodeDetail, tasks: NodeTask[], events: HistoryRow[], words: string}} NodeData */

const POINTS = 168;
const TABS = /** @type {const} */ ([["tasks", "Tasks"], ["events", "Events"], ["hardware", "Hardware"], ["words", "Diagnostics"], ["definition", "Definition"]]);

/** @param {NodeDetail} node */
function sentence(node) {
  if (node.quarantine) return html`In quarantine until ${time(node.quarantine.until)}: it gets no tasks, because placements kept failing there.`;
  const why = node.reason ? `: ${node.reason}` : "";
  const tasks = node.tasks ? plural(node.tasks, "task") : "nothing";
  return html`${node.online ? `Takes work; ${tasks} ${node.tasks === 1 ? "runs" : "run"} here`.replace("nothing run", "nothing runs") : `Takes no work${why}; ${tasks} here`}.`;
}

/** @param {NodeDetail} node @param {string} resource */
function resourceStat(node, resource) {
  const use = node.resources[resource];
  const held = use.reserved ? `, ${amount(resource, use.reserved)} reserved` : "";
  const seen = use.observed ? `, ${amount(resource, use.observed)} measured` : "";
  return html`<div class="panel stat"><div class="k">${resource === "cpu" || resource === "gpu" ? resource.toUpperCase() : resource[0].toUpperCase() + resource.slice(1)}</div>
    <div class="v">${percent(use.share)} <small>${amount(resource, use.allocated)} of ${amount(resource, use.capacity)}${held}${seen}</small></div>
    ${meter(use.share, resource, use.reserved / use.capacity)}</div>`;
}

/** @param {NodeDetail} node @param {NodeTask[]} tasks */
function gpus(node, tasks) {
  if (!node.gpus.length) return nothing;
  const holder = (/** @type {number} */ slot) => tasks.filter((task) => task.devices.includes(slot));
  return html`<div class="panel"><h2>GPUs <small>${plural(node.gpus.length, "GPU")}, ${count(node.gpus.filter((gpu) => !gpu.used).length)} free</small></h2>
    <div class="gpu-slots">${node.gpus.map((gpu) => html`<div class="gpu-slot"><b>${gpu.slot}</b> <span class="soft">${gpu.model}, ${bytes(gpu.memory)}${gpu.island ? `, island ${gpu.island}` : ""}</span>${meter(gpu.used / 1000, `GPU ${gpu.slot}`)}<div class="cut">${holder(gpu.slot).map((task) => html`${workloadLink(task)} `)}${gpu.used ? nothing : html`<span class="faint">free</span>`}</div></div>`)}</div>
  </div>`;
}

/** @type {import("../parts/table.js").Column<NodeTask>[]} */
const TASKS = [
  { name: "workload", title: "Workload", cell: (row) => workloadLink(row), value: (row) => `${row.namespace}/${row.name}` },
  { name: "replica", title: "Replica", isNumber: true, cell: (row) => row.replica, value: (row) => row.replica },
  { name: "state", title: "State", cell: (row) => state(row.state), value: (row) => row.state },
  { name: "gpus", title: "GPUs", cell: (row) => row.devices.join(", ") || html`<span class="faint">–</span>`, value: (row) => row.devices.join(" ") },
  { name: "placed_at", title: "Here for", isNumber: true, cell: (row) => (row.placed_at === null ? "–" : duration(Date.now() / 1000 - row.placed_at)), value: (row) => row.placed_at },
  { name: "cpu", title: "CPU in use", isNumber: true, cell: (row) => (row.use?.cpu_cores === undefined || row.use.cpu_cores === null ? html`<span class="faint">–</span>` : amount("cpu", row.use.cpu_cores)), value: (row) => row.use?.cpu_cores },
];

/** @type {import("../parts/table.js").Column<HistoryRow>[]} */
const EVENTS = [
  { name: "at", title: "When", cell: (row) => time(row.at), value: (row) => row.at },
  { name: "kind", title: "Kind", cell: (row) => html`<span class="tag">${row.kind}</span>`, value: (row) => row.kind },
  { name: "workload", title: "Workload", cell: (row) => (row.name === null ? html`<span class="faint">–</span>` : workloadLink({ namespace: row.namespace ?? "default", name: row.name })), value: (row) => (row.name ? `${row.namespace}/${row.name}` : "") },
  { name: "message", title: "What happened", wraps: true, cell: (row) => row.message, value: (row) => row.message },
];

/** @param {NodeDetail} node @param {() => void} reload */
async function editLabels(node, reload) {
  const before = node.labels;
  const done = await askForm({
    title: `Labels and taints of ${node.name}`,
    detail: "One KEY=VALUE a line; a line that is removed removes the label. Work that waits is looked at again.",
    fields: [
      { name: "labels", label: "Labels", kind: "area", value: Object.entries(before).map(([key, value]) => `${key}=${value}`).join("\n") },
      { name: "taints", label: "Taints, KEY=VALUE:EFFECT, one a line", kind: "area", value: node.taints.join("\n"), hint: "dedicated=db:NoSchedule" },
    ],
    action: "Change",
    run: ({ labels, taints }) => {
      /** @type {Record<string, string | null>} */
      const wanted = Object.fromEntries(Object.keys(before).map((key) => [key, null]));
      for (const line of labels.split("\n").map((one) => one.trim()).filter(Boolean)) wanted[line.split("=")[0].trim()] = line.split("=").slice(1).join("=").trim();
      const changed = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => before[key] !== value));
      const given = taints.split("\n").map((one) => one.trim()).filter(Boolean);
      const isSame = given.join() === node.taints.join();
      return send("PATCH", `/nodes/${segment(node.name)}`, { labels: changed, ...(isSame ? {} : { taints: given.map(readTaint) }) });
    },
    done: `${node.name} is changed`,
  });
  if (done) reload();
}

/** @param {string} text KEY=VALUE:EFFECT */
function readTaint(text) {
  const colon = text.lastIndexOf(":");
  const [key, ...value] = (colon < 0 ? text : text.slice(0, colon)).split("=");
  return { key, ...(value.length ? { value: value.join("=") } : {}), ...(colon < 0 ? {} : { effect: text.slice(colon + 1) }) };
}

/** @param {NodeData} data @param {string} tab */
function shown(data, tab) {
  const { node } = data;
  if (tab === "events") return html`<div class="tools"><span class="grow soft">The newest ${count(data.events.length)}. <a class="link" href=${`/events?node=${encodeURIComponent(node.name)}`}>All events of this node</a></span>${exportButtons(EVENTS, () => data.events, `${node.name}-events`)}</div>
    ${table({ columns: EVENTS, rows: data.events, key: (row) => row.seq, caption: `Events of ${node.name}`, empty: empty("Nothing happened here yet") })}`;
  if (tab === "hardware") return inventoryPanel(node.inventory);
  if (tab === "words") return html`<pre>${data.words}</pre><p>${commandToCopy(`dovetail nodes ${node.name}`)}</p>`;
  if (tab === "definition") return html`<pre>${JSON.stringify(node.definition, null, 2)}</pre>`;
  return html`<div class="tools"><span class="grow"></span>${exportButtons(TASKS, () => data.tasks, `${node.name}-tasks`)}</div>
    ${table({ columns: TASKS, rows: data.tasks, key: (row) => `${row.workload}.${row.replica}`, caption: `Tasks on ${node.name}`, empty: empty("No task is here", "It has room for work that fits.") })}`;
}

export default definePage({
  title: (route) => route.rest[0] ?? "Node",
  everyS: 5,
  follows: (event, route) => event.node === route.rest[0],
  /** @returns {Promise<NodeData>} */
  load: async ({ route, signal }) => {
    const name = route.rest[0] ?? "";
    const at = `/nodes/${segment(name)}`;
    const { seconds } = rangeOf(route.query);
    const [node, tasks, events, words, trends] = await Promise.all([get(at, {}, signal), get(`${at}/tasks`, {}, signal), get("/events", { node: name, newest: true, limit: 100 }, signal), get(`${at}/diagnostics`, {}, signal), getShared(9, "/trends", { node: name, since: seconds, points: POINTS }, signal)]);
    return { node, tasks: tasks.items, events: events.items, words, trends };
  },
  view: (data, { route, reload }) => {
    const { node } = data;
    const tab = route.query.get("tab") ?? "tasks";
    const resources = ["cpu", "memory", "gpu", "disk"].filter((name) => node.resources[name]?.capacity);
    return html`<div class="head">
        <div><h1>${node.name} ${nodeState(node.status)}</h1><p class="lead">${sentence(node)} <a class="link" href=${`/backends?name=${encodeURIComponent(node.backend)}`}>Backend ${node.backend}</a>. <a class="link" href=${`/why-not?node=${encodeURIComponent(node.name)}`}>Why does work not run here?</a></p></div>
        <div class="actions">${nodeButtons(node, reload)}<button class="btn" @click=${() => editLabels(node, reload)}>Labels…</button><button class="btn danger" @click=${() => removeNode(node)}>Remove…</button></div>
      </div>
      ${quarantine(node)}
      <div class="grid node-use">${resources.map((name) => resourceStat(node, name))}</div>
      ${gpus(node, data.tasks)}
      ${nodeTrends(data.trends, node.name, route.query)}
      <div class="panel"><h2>Labels and taints</h2>${Object.keys(node.labels).length ? labelTags(node.labels) : html`<span class="soft">No labels.</span>`} ${node.taints.map((taint) => html`<span class="tag warn">${taint}</span> `)}</div>
      <div class="panel">${tabs(TABS.map(([value, words]) => /** @type {const} */ ([value, value === "tasks" ? `${words} ${count(data.tasks.length)}` : words])), tab, (value) => setQuery({ tab: value === "tasks" ? null : value }))}${shown(data, tab)}</div>`;
  },
});

/** @param {NodeDetail} node */
function quarantine(node) {
  if (!node.quarantine) return nothing;
  return html`<div class="notice bad"><span class="bad">!</span><div class="grow"><b>Placements kept failing here.</b>
    <ul>${node.quarantine.failures.map((one) => html`<li>${one.workload}: ${plural(one.times, "time")}, last ${ago(one.last_at)}: ${one.reason}</li>`)}</ul>${commandToCopy(node.quarantine.lift)}</div></div>`;
}

/** @param {NodeDetail} node */
async function removeNode(node) {
  const done = await askForm({
    title: `Remove ${node.name} for good?`,
    detail: node.tasks ? `Its ${plural(node.tasks, "task")} wait for another node. A backend that still has the machine brings it back.` : "A backend that still has the machine brings it back.",
    fields: [{ name: "reason", label: "Reason, for the history" }],
    action: "Remove",
    isDanger: true,
    run: async ({ reason }) => {
      await send("DELETE", `/nodes/${segment(node.name)}${reason ? `?reason=${encodeURIComponent(reason)}` : ""}`);
      return true;
    },
    done: "",
  });
  if (!done) return;
  toast(`${node.name} is removed`);
  go("/nodes");
}
