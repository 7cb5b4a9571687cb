/** Virtual machines: power, snapshots, live migration; also those that others made. */
import { html, nothing } from "../core/view.js";
import { address, get, segment, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { hereWith, setQuery } from "../core/route.js";
import { bytes, count, duration, plural, time } from "../core/format.js";
import { attempt, confirm } from "../core/notices.js";
import { nodeLink, state, workloadLink } from "../parts/badge.js";
import { askForm } from "../parts/form_dialog.js";
import { getPage, serverList } from "../parts/server_list.js";
import { empty } from "../parts/states.js";
import { table } from "../parts/table.js";
import { meter } from "../charts/bars.js";

/** @typedef {import("../types").Schemas["VmRow"]} VmRow */
/** @typedef {import("../types").Schemas["VmSnapshotRow"]} VmSnapshotRow */
/** @typedef {import("../types").Schemas["VmMigration"]} VmMigration */
/** @typedef {import("../parts/server_list.js").ListPage<VmRow> & {one: VmRow | null, snapshots: VmSnapshotRow[], migration: VmMigration | null}} VmData */

const PATH = "/vms";
const SORT = "name";

/** @type {Record<string, string>} */
const POWERS = { running: "ok", paused: "warn", off: "", panicked: "bad" };
/** @type {Record<string, [string, string]>} */
const CHANGES = {
  on: ["Switch on", ""],
  off: ["Shut down", "The guest is asked to shut down. Its workload goes on and keeps its node."],
  reboot: ["Reboot", "The guest is asked to reboot."],
  cut: ["Cut the power", "The guest is not asked: what it has not written is lost."],
  reset: ["Reset", "The guest is not asked: what it has not written is lost."],
};

/** What names a VM of ours in the API: its task as NAME or NAMESPACE/NAME with its replica. @param {VmRow} row */
const refOf = (row) => `${row.workload}.${row.task?.split(".")[1] ?? "0"}`;
/** @param {VmRow} row @param {string} more */
const at = (row, more) => address(`/vms/${segment(refOf(row))}${more}`, { namespace: row.namespace });

/** @param {VmRow} row */
const open = (row) => hereWith({ node: row.node, name: row.name });

/** @type {import("../parts/table.js").Column<VmRow>[]} */
const COLUMNS = [
  { name: "name", title: "VM", sorts: true, cell: (row) => html`<a class="link" href=${open(row)}>${row.name}</a>`, value: (row) => row.name },
  { name: "power", title: "Power", sorts: true, cell: (row) => state(row.power, POWERS[row.power]), value: (row) => row.power },
  { name: "node", title: "Node", sorts: true, cell: (row) => nodeLink(row.node), value: (row) => row.node },
  { name: "workload", title: "Workload", sorts: true, cell: (row) => (row.workload === null ? html`<span class="soft">made by others</span>` : workloadLink({ namespace: row.namespace ?? "default", name: row.workload })), value: (row) => row.workload },
  { name: "cpus", title: "CPUs", sorts: true, isNumber: true, cell: (row) => row.cpus, value: (row) => row.cpus },
  { name: "memory_bytes", title: "Memory", sorts: true, isNumber: true, cell: (row) => bytes(row.memory_bytes), value: (row) => row.memory_bytes },
  { name: "used_memory_bytes", title: "Used", sorts: true, isNumber: true, cell: (row) => (row.used_memory_bytes === null ? html`<span class="faint">–</span>` : bytes(row.used_memory_bytes)), value: (row) => row.used_memory_bytes },
  { name: "backend", title: "Backend", sorts: true, cell: (row) => html`<a class="link" href=${`/backends?name=${encodeURIComponent(row.backend)}`}>${row.backend}</a>`, value: (row) => row.backend },
];

/** @param {VmRow} row @param {string} power @param {() => void} reload */
async function change(row, power, reload) {
  const [words, detail] = CHANGES[power];
  if (detail && !(await confirm(`${words}: ${row.name}?`, detail, words))) return;
  if (await attempt(() => send("POST", at(row, "/power"), { power }), (/** @type {{done: string}} */ answer) => `${row.name}: ${answer.done}`)) reload();
}

/** @param {VmRow} row @param {() => void} reload */
async function migrate(row, reload) {
  /** @type {[{items: {name: string, backend: string}[]}, {items: VmRow[]}]} */
  const [nodes, vms] = await Promise.all([get("/nodes", {}), get(PATH, {})]);
  const others = nodes.items.filter((node) => node.backend === row.backend && node.name !== row.node);
  const answer = await askForm({
    title: `Migrate ${row.name}`,
    detail: "While it runs. If that fails, it runs on where it is.",
    fields: [
      { name: "node", label: "To", kind: "choice", options: others.map((node) => ({ value: node.name, words: `${node.name}, ${plural(vms.items.filter((one) => one.node === node.name).length, "VM")}` })) },
      { name: "reason", label: "Reason, for the history" },
    ],
    action: "Migrate",
    run: ({ node, reason }) => send("POST", at(row, "/migrate"), { node, ...(reason ? { reason } : {}) }),
    done: (/** @type {{done: string}} */ done) => `${row.name}: ${done.done}`,
  });
  if (answer) reload();
}

/** @param {VmRow} row @param {() => void} reload */
async function snapshot(row, reload) {
  const answer = await askForm({
    title: `Snapshot of ${row.name}`,
    detail: "Of its disks and its memory.",
    fields: [{ name: "name", label: "Name", required: true, hint: "before-upgrade" }],
    action: "Take it",
    run: ({ name }) => send("PUT", at(row, `/snapshots/${segment(name)}`)),
    done: (/** @type {{done: string}} */ done) => `${row.name}: ${done.done}`,
  });
  if (answer) reload();
}

/** @param {VmRow} row @param {() => void} reload */
async function adopt(row, reload) {
  const answer = await askForm({
    title: `Adopt ${row.name}`,
    detail: "It becomes a workload of ours without a reboot, and keeps its name and its disks.",
    fields: [
      { name: "name", label: "Name of the workload", required: true, value: row.name },
      { name: "namespace", label: "Namespace", value: "default" },
    ],
    action: "Adopt",
    run: ({ name, namespace }) => send("POST", "/vms/adopt", { node: row.node, vm: row.name, name, namespace: namespace || "default" }),
    done: `${row.name} is a workload now`,
  });
  if (answer) reload();
}

/** @param {VmRow} row @param {() => void} reload @returns {import("../parts/table.js").Column<VmSnapshotRow>[]} */
const snapshotColumns = (row, reload) => [
  { name: "name", title: "Snapshot", cell: (one) => one.name, value: (one) => one.name },
  { name: "made_at", title: "Taken", cell: (one) => time(one.made_at), value: (one) => one.made_at },
  { name: "power", title: "Power", cell: (one) => one.power, value: (one) => one.power },
  { name: "current", title: "", cell: (one) => (one.current ? html`<span class="tag">current</span>` : nothing) },
  {
    name: "actions",
    title: "",
    cell: (one) => {
      const back = async () => {
        if ((await confirm(`Revert ${row.name} to ${one.name}?`, "What happened since is lost.", "Revert")) && (await attempt(() => send("POST", at(row, `/snapshots/${segment(one.name)}/revert`)), `${row.name} goes on from ${one.name}`))) reload();
      };
      const away = async () => {
        if ((await confirm(`Remove snapshot ${one.name}?`, "The VM goes on as it is.", "Remove")) && (await attempt(() => send("DELETE", at(row, `/snapshots/${segment(one.name)}`)), `Snapshot ${one.name} is removed`))) reload();
      };
      return html`<span class="row-actions"><button class="btn quiet" @click=${back}>Revert</button><button class="btn quiet" @click=${away}>Remove</button></span>`;
    },
  },
];

/** @param {VmMigration} found */
function migrationWords(found) {
  const path = `${found.source} → ${found.target}`;
  if (found.state === "running") return html`<p>${path}: round ${found.rounds}, ${bytes(found.sent_bytes ?? 0)} sent, ${bytes(found.remaining_bytes ?? 0)} left</p>${meter((found.sent_bytes ?? 0) / Math.max(1, (found.sent_bytes ?? 0) + (found.remaining_bytes ?? 0)), "sent")}`;
  if (found.state === "failed") return html`<p class="bad">${path}: failed after ${duration(found.elapsed_s)}: ${found.message}</p>`;
  return html`<p>${path}: done in ${duration(found.elapsed_s)}${found.downtime_s === null ? "" : `, paused for ${Math.round(found.downtime_s * 1000)} ms`}.</p>`;
}

/** @param {VmData} data @param {VmRow} one @param {() => void} reload */
function detail(data, one, reload) {
  const powers = one.power === "running" ? ["off", "reboot", "cut", "reset"] : ["on"];
  const actions =
    one.workload === null
      ? html`<button class="btn" @click=${() => adopt(one, reload)}>Adopt…</button>`
      : html`${powers.map((power) => html`<button class=${power === "cut" || power === "reset" ? "btn danger" : "btn"} @click=${() => change(one, power, reload)}>${CHANGES[power][0]}</button>`)}<button class="btn" @click=${() => migrate(one, reload)}>Migrate…</button><button class="btn" @click=${() => snapshot(one, reload)}>Snapshot…</button>`;
  return html`<div class="panel">
    <div class="head"><div><h2>${one.name} ${state(one.power, POWERS[one.power])}</h2><p class="soft">On ${nodeLink(one.node)}, ${plural(one.cpus, "CPU")}, ${bytes(one.memory_bytes)}${one.cpu_time_s === null ? "" : `, ${duration(one.cpu_time_s)} of CPU time`}.${one.workload === null ? " Others made it." : nothing}</p></div>
      <div class="actions">${actions}<button class="btn quiet" aria-label="Close" @click=${() => setQuery({ name: null, node: null })}>×</button></div></div>
    ${data.migration && data.migration.state !== "none" ? html`<h3>Last migration</h3>${migrationWords(data.migration)}` : nothing}
    ${one.workload === null ? nothing : html`<h3>Snapshots</h3>${table({ columns: snapshotColumns(one, reload), rows: data.snapshots, key: (row) => row.name, caption: `Snapshots of ${one.name}`, empty: html`<p class="soft">It has no snapshots.</p>` })}`}
  </div>`;
}

export default definePage({
  title: (route) => (route.query.get("name") ? `VM ${route.query.get("name")}` : "VMs"),
  everyS: 4,
  follows: (event) => event.node !== null,
  /** @returns {Promise<VmData>} */
  load: async ({ route, signal }) => {
    const page = await getPage(PATH, route.query, SORT, signal);
    const [name, node] = [route.query.get("name"), route.query.get("node")];
    const isOne = (/** @type {VmRow} */ row) => row.name === name && row.node === (node ?? row.node);
    const one = name ? page.items.find(isOne) ?? (await get(PATH, { search: name }, signal)).items.find(isOne) ?? null : null;
    if (one === null || one.workload === null) return { ...page, one, snapshots: [], migration: null };
    const [snapshots, migration] = await Promise.all([get(at(one, "/snapshots"), {}, signal), get(at(one, "/migration"), {}, signal)]);
    return { ...page, one, snapshots: snapshots.items, migration };
  },
  view: (data, { route, reload }) => {
    const query = route.query;
    const others = data.counts.others ?? 0;
    return html`<h1>VMs</h1><p class="lead">${plural(data.total, "VM")}${others ? `, ${count(others)} made by others` : ""}.</p>
      ${data.one ? detail(data, data.one, reload) : nothing}
      ${serverList({ path: PATH, data, query, sort: SORT, columns: COLUMNS, key: (row) => `${row.node} ${row.name}`, caption: "VMs", find: "Find by VM, node, workload", notFound: "No VM is like that", none: empty("There are no VMs", "Add a hypervisor as a backend of kind libvirt, and submit work of kind vm.", "dovetail backend add --help"), picked: (row) => row.name === data.one?.name && row.node === data.one.node })}`;
  },
});
