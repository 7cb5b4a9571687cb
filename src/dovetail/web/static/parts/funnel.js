/** How the nodes became fewer, filter by filter; each bar opens into the nodes that it refused. */
import { html, nothing } from "../core/view.js";
import { count, plural } from "../core/format.js";
import { nodeLink } from "./badge.js";

/** @typedef {import("../types").Schemas["DecisionExplanation"]} DecisionExplanation */
/** @typedef {import("../types").Schemas["RefusalPage"]} RefusalPage */

const words = (/** @type {string} */ name) => name.replaceAll("_", " ");

/**
 * @param {DecisionExplanation} explanation
 * @param {object} [opening] left out where no nodes can be asked for
 * @param {string} opening.open the step whose nodes are shown
 * @param {RefusalPage | null} opening.refusals
 * @param {(step: string | null) => void} opening.onOpen
 * @param {(node: string) => string} opening.whyNot the address of the whole answer about a node
 */
export function funnel(explanation, opening) {
  const steps = explanation.funnel.map((step, place) => ({ ...step, refused: (place ? explanation.funnel[place - 1].remaining : explanation.nodes) - step.remaining }));
  const telling = steps.filter((step) => step.refused > 0);
  const quiet = steps.length - telling.length;
  return html`<div class="funnel">
    ${bar("nodes", explanation.nodes, explanation.nodes, "")}
    ${telling.map((step) => {
      const line = bar(words(step.filter), step.remaining, explanation.nodes, `−${count(step.refused)} ${words(step.reason)}`);
      if (!opening) return line;
      const isOpen = opening.open === step.filter;
      return html`<button class="step" aria-expanded=${String(isOpen)} @click=${() => opening.onOpen(isOpen ? null : step.filter)}>${line}</button>
        ${isOpen ? refused(opening.refusals, opening.whyNot) : nothing}`;
    })}
    ${quiet ? html`<p class="faint">${plural(quiet, telling.length ? "other filter" : "filter")} refused no node</p>` : nothing}
  </div>`;
}

/** @param {string} name @param {number} left @param {number} all @param {string} why */
const bar = (name, left, all, why) =>
  html`<span class="funnel-row"><span>${name}</span><span class="track"><i .style=${`width:${left === 0 ? 0 : Math.max(1, (left * 100) / all)}%`}></i></span><span class="nowrap"><b>${count(left)}</b> <span class="soft">${why}</span></span></span>`;

/** @param {RefusalPage | null} page @param {(node: string) => string} whyNot */
function refused(page, whyNot) {
  if (page === null) return html`<p class="soft refused">Asking …</p>`;
  if (page.total === 0) return html`<p class="soft refused">It refuses no node now; this was so when it was decided.</p>`;
  return html`<ul class="refused">
    ${page.items.map((one) => html`<li>${nodeLink(one.node)} <span class="soft">${one.message}</span> <a class="link" href=${whyNot(one.node)}>why not?</a></li>`)}
    ${page.total > page.items.length ? html`<li class="faint">and ${count(page.total - page.items.length)} more</li>` : nothing}
  </ul>`;
}
