/** A node of the map in words. */
import { html, nothing } from "../../core/view.js";
import { percent } from "../../core/format.js";
import { shareOf } from "./model.js";

/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */

/** @param {MapNode} node */
export const gpusInUse = (node) => Math.round([...node.used].reduce((sum, letter) => sum + shareOf(letter), 0) * 10) / 10;

/** In one sentence, for readers of screens. @param {MapNode} node @param {MapModel} model */
export function describe(node, model) {
  const gpus = node.gpus ? `${gpusInUse(node)} of ${node.gpus} GPUs in use, ` : "";
  const tenant = node.tenant < 0 ? "" : `, most by ${model.tenants[node.tenant]}`;
  return `${node.name} in ${model.placeOf(node).join(", ")}: ${model.legend[node.health]}, ${gpus}CPU ${percent(node.cpu)}${tenant}`;
}

/** @param {MapNode} node @param {MapModel} model */
export const nodeCard = (node, model) => html`<b>${node.name}</b><div class="soft">${model.placeOf(node).join(" › ")}</div>
  <dl class="pairs">
    <dt>health</dt><dd class=${["ok", "warn", "bad", "warn", ""][node.health] ?? ""}>${model.legend[node.health]}</dd>
    ${node.gpus ? html`<dt>GPUs in use</dt><dd>${gpusInUse(node)} of ${node.gpus}</dd>` : nothing}
    <dt>CPU</dt><dd>${percent(node.cpu)}</dd>
    <dt>memory</dt><dd>${percent(node.memory)}</dd>
    ${node.tenant < 0 ? nothing : html`<dt>held most by</dt><dd>${model.tenants[node.tenant]}</dd>`}
    ${node.fragment === null ? nothing : html`<dt>free, unusable</dt><dd>${percent(node.fragment)}</dd>`}
    ${node.forecast === null ? nothing : html`<dt>in 1 h</dt><dd>${percent(node.forecast)}</dd>`}
  </dl>`;
