/** Where work would go: the sentence, the nodes, who would be preempted, what it would cost, the funnel and the scores. */
import { html, nothing } from "../core/view.js";
import { count, duration, number, plural, time } from "../core/format.js";
import { nodeLink, workloadLink } from "./badge.js";
import { funnel } from "./funnel.js";
import { scoreTable } from "./scores.js";

/** @typedef {import("../types").Schemas["PlanAnswer"]} PlanAnswer */

const MOST_NODES = 12;

/** @param {PlanAnswer} plan @param {(patch: Record<string, any>) => void} [onUse] takes a suggestion over, where that can be done */
export function planView(plan, onUse) {
  const last = plan.tasks.at(-1);
  const displaces = plan.displaces;
  const victims = displaces?.victims ?? [];
  return html`<div class="plan" role="status">
    <p class="answer"><span class=${plan.unplaced ? "warn" : "ok"}>${plan.unplaced ? "!" : "✓"}</span> ${plan.answer}</p>
    ${onUse ? plan.suggestions.map(({ words, patch }) => (patch ? html`<p><button class="btn" @click=${() => onUse(patch)}>Use</button> ${words}</p>` : html`<p class="soft">Or: ${words}</p>`)) : nothing}
    ${nodesOf(plan)}
    ${victims.length ? html`<p>Preempts ${victims.slice(0, 5).map((one, place) => html`${place ? ", " : ""}${workloadLink(one)} <span class="soft">(${duration(one.lost_s)} of work lost)</span>`)}${victims.length > 5 ? ` and ${count(victims.length - 5)} more` : ""}.</p>` : nothing}
    ${plan.communication ? html`<p class="soft">${plan.communication.message}</p>` : nothing}
    ${market(plan)}
    ${last ? html`<details><summary class="link">The funnel of ${plan.tasks.length > 1 ? `task ${last.replica}` : "it"}</summary>${funnel(last.explanation)}${scoreTable(last.explanation, last.node)}${last.explanation.notes.map((note) => html`<p class="soft">${note}</p>`)}</details>` : nothing}
  </div>`;
}

/** @param {PlanAnswer} plan */
function nodesOf(plan) {
  /** @type {Map<string, number>} */
  const tasks = new Map();
  for (const task of plan.tasks) if (task.node) tasks.set(task.node, (tasks.get(task.node) ?? 0) + 1);
  if (tasks.size === 0) return nothing;
  const rest = tasks.size - MOST_NODES;
  return html`<p>${[...tasks].slice(0, MOST_NODES).map(([node, many], place) => html`${place ? ", " : ""}${nodeLink(node)}${many > 1 ? html` <span class="soft">×${count(many)}</span>` : nothing}`)}${rest > 0 ? html` <span class="soft">and ${plural(rest, "more node")}</span>` : nothing}</p>`;
}

/** @param {PlanAnswer} plan */
function market(plan) {
  const places = plan.market ?? [];
  if (places.length === 0) return nothing;
  return html`<div class="scroll"><table>
    <thead><tr><th scope="col">Place</th><th scope="col" class="num">Costs</th><th scope="col">Starts</th><th scope="col">Why not</th></tr></thead>
    <tbody>${places.slice(0, 8).map((one) => html`<tr class=${one.chosen ? "pick" : ""}><td>${one.backend} <span class="soft">${one.place}${one.spot ? " spot" : ""}</span></td><td class="num">${number(one.cost)} ${one.currency}</td><td>${time(one.start)}</td><td class="wrap soft">${one.why_not}</td></tr>`)}</tbody>
  </table></div>`;
}
