/** What an agent found in a machine: driver, interfaces, switches, GPUs. */
import { html, nothing } from "../core/view.js";
import { bytes, count } from "../core/format.js";
import { empty } from "./states.js";
import { table } from "./table.js";

/** @typedef {import("../types").Schemas["NodeInventory"]} NodeInventory */
/** @typedef {import("../types").Schemas["NodeInterface"]} NodeInterface */
/** @typedef {import("../types").Schemas["NodeGpuHardware"]} NodeGpuHardware */

/** @type {import("./table.js").Column<NodeInterface & {plugged: string}>[]} */
const INTERFACES = [
  { name: "name", title: "Interface", cell: (row) => row.name },
  { name: "up", title: "State", cell: (row) => (row.up ? "up" : "down") },
  { name: "speed", title: "Speed", isNumber: true, cell: (row) => (row.speed_mbps === null ? html`<span class="faint">unknown</span>` : `${count(row.speed_mbps)} Mbit/s`) },
  { name: "mac", title: "MAC", cell: (row) => html`<span class="mono">${row.mac}</span>` },
  { name: "addresses", title: "Addresses", wraps: true, cell: (row) => html`<span class="mono">${row.addresses.join(" ")}</span>` },
  { name: "plugged", title: "Plugged into", cell: (row) => row.plugged || html`<span class="faint">–</span>` },
];

/** @type {import("./table.js").Column<NodeGpuHardware>[]} */
const GPUS = [
  { name: "model", title: "GPU", cell: (row) => row.model },
  { name: "memory", title: "Memory", isNumber: true, cell: (row) => bytes(row.memory) },
  { name: "address", title: "Address", cell: (row) => html`<span class="mono">${row.address}</span>` },
  { name: "island", title: "Island", isNumber: true, cell: (row) => row.island },
  { name: "links", title: "NVLinks", wraps: true, cell: (row) => Object.entries(row.links).map(([to, links]) => `${links} to ${to}`).join(", ") || html`<span class="faint">–</span>` },
  { name: "mig", title: "MIG", cell: (row) => `${row.mig ?? "–"}${row.instances.length ? `: ${row.instances.map((one) => one.profile).join(", ")}` : ""}` },
  { name: "uuid", title: "UUID", cell: (row) => html`<span class="mono">${row.uuid}</span>` },
];

/** @param {NodeInventory | null} inventory */
export function inventoryPanel(inventory) {
  if (inventory === null) return empty("No agent has looked into this machine", "Its capacity is what its backend or its registration says.", "dovetail agent --help");
  const interfaces = inventory.interfaces.map((one) => ({ ...one, plugged: inventory.switches.filter((port) => port.interface === one.name).map((port) => `${port.switch} ${port.port}`).join(", ") }));
  return html`<dl class="pairs">
      <dt>Kernel</dt><dd>${inventory.kernel}</dd>
      <dt>Virtualisation</dt><dd>${inventory.virtualisation || "none"}</dd>
      ${inventory.driver ? html`<dt>GPU driver</dt><dd>${inventory.driver}${inventory.cuda ? `, CUDA ${inventory.cuda}` : ""}${inventory.mps ? ", MPS runs" : ""}</dd>` : nothing}
    </dl>
    <h2>Network</h2>
    ${table({ columns: INTERFACES, rows: interfaces, key: (row) => row.name, caption: "Network interfaces", empty: html`<p class="soft">No interface was found.</p>` })}
    ${inventory.gpus.length ? html`<h2>GPUs</h2>${table({ columns: GPUS, rows: inventory.gpus, key: (row) => row.uuid, caption: "GPU hardware" })}` : nothing}`;
}
