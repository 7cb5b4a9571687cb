/** A workload on the map in words: how near its tasks are to each other, what that costs, and why not nearer. */
import { html, nothing } from "../../core/view.js";
import { setQuery } from "../../core/route.js";
import { bytes, count, duration, number, percent, plural } from "../../core/format.js";
import { workloadLink } from "../badge.js";

/** @typedef {import("../../types").Schemas["MapWorkload"]} MapWorkload */
/** @typedef {import("../../types").Schemas["MapLink"]} MapLink */

const MOST_LINKS = 12;

/** @param {MapWorkload} workload @param {any} explanation */
export function gangPanel(workload, explanation) {
  const tasks = workload.tasks.reduce((sum, one) => sum + one, 0);
  const notes = /** @type {string[]} */ (explanation?.decision?.explanation?.notes ?? []);
  return html`<aside class="panel side" aria-label="Selected workload">
    <h2>${workloadLink(workload, `${workload.namespace}/${workload.name}`)}</h2>
    ${explanation?.answer ? html`<p class="answer">${explanation.answer}</p>` : nothing}
    ${tasks ? html`<dl class="pairs">${level(workload)}<dt>tasks</dt><dd>${count(tasks)} on ${plural(workload.row.length, "node")}</dd>${traffic(workload)}</dl>` : html`<p class="soft">None of its tasks holds a node now.</p>`}
    ${notes.length ? html`<h2>Why there, and no nearer</h2><ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>` : nothing}
    ${workload.links.length ? html`<h2>Links between its tasks</h2>${workload.links.slice(0, MOST_LINKS).map(linkRow)}${workload.links.length > MOST_LINKS ? html`<p class="soft">and ${workload.links.length - MOST_LINKS} more</p>` : nothing}` : nothing}
    <p><button class="btn" @click=${() => setQuery({ workload: null }, { push: true })}>Show no workload</button></p>
  </aside>`;
}

/** @param {MapWorkload} workload */
const level = (workload) =>
  html`<dt>level reached</dt><dd>${workload.level === null ? "none: they share no domain" : workload.level === "host" ? `one node, ${workload.domain}` : html`${workload.level} <button class="btn quiet" @click=${() => setQuery({ at: workload.domain, eye: null })}>${workload.domain}</button>`}</dd>`;

/** @param {MapWorkload} workload */
function traffic({ traffic_s: now, best_s: best, traffic_bytes: size }) {
  if (now === null) return nothing;
  const more = best ? now / best - 1 : 0;
  return html`<dt>all-reduce of ${bytes(size)}</dt><dd>about ${duration(now)} <span class="soft">${best === null ? "" : more < 0.01 ? "the best possible" : `${percent(more)} more than ${duration(best)}, the best possible`}</span></dd>`;
}

/** @param {MapLink} link */
const linkRow = (link) =>
  html`<div class="link-row" title=${link.up_mbps === null ? "Nobody says what this link carries" : `${number(link.up_mbps / 1000)} Gbit/s up`}><span>${link.level} ${link.name}</span><span class="soft num">${plural(link.tasks, "task")}</span><span class="num">${link.load === null ? html`<span class="faint">–</span>` : percent(link.load)}</span></div>`;
