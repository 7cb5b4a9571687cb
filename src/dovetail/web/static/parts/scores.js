/** The best nodes and how each score rated them: weights in the header, bars in the cells, the total last. */
import { html, nothing } from "../core/view.js";
import { number } from "../core/format.js";
import { nodeLink } from "./badge.js";

/** @typedef {import("../types").Schemas["DecisionExplanation"]} DecisionExplanation */

/** @param {Pick<DecisionExplanation, "best" | "weights">} explanation @param {string | null} chosen the row to mark @param {string} [mark] with this word */
export function scoreTable({ best, weights }, chosen, mark = "chosen") {
  if (best.length === 0) return nothing;
  const names = Object.keys(weights).length ? Object.keys(weights) : Object.keys(best[0].points);
  const most = Object.fromEntries(names.map((name) => [name, Math.max(1e-9, ...best.map((row) => Math.abs(row.points[name] ?? 0)))]));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Scores">
    <table>
      <thead><tr><th scope="col">Node</th>${names.map((name) => html`<th scope="col">${name.replaceAll("_", " ")}${weights[name] === undefined ? nothing : html` <span class="faint">×${number(weights[name])}</span>`}</th>`)}<th scope="col" class="num">Total</th></tr></thead>
      <tbody>
        ${best.map(
          (row) => html`<tr class=${row.node === chosen ? "pick" : ""}>
            <td>${nodeLink(row.node)}${row.node === chosen ? html` <span class="tag">${mark}</span>` : nothing}</td>
            ${names.map((name) => html`<td><span class="score"><span>${(row.points[name] ?? 0).toFixed(2)}</span><i .style=${`width:${(Math.abs(row.points[name] ?? 0) * 100) / Math.max(1, most[name])}%`}></i></span></td>`)}
            <td class="num"><b>${row.total.toFixed(2)}</b></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
