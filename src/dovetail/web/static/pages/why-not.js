/** Why a workload is not on a node: the sentence, every filter that refuses it, and the smallest change. */
import { html, nothing } from "../core/view.js";
import { Problem, get, segment } from "../core/api.js";
import { definePage } from "../core/page.js";
import { pageOf, setQuery } from "../core/route.js";
import { nodeLink } from "../parts/badge.js";
import { nameField } from "../parts/name-field.js";
import { scoreTable } from "../parts/scores.js";
import { empty } from "../parts/states.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {Schemas["NodeRefusal"]} Refusal */
/** @typedef {{answer: Schemas["WhyNotAnswer"] | null, named: Schemas["NamedWorkloads"] | null, trouble: string, waiting: Schemas["WorkloadRow"][]}} Data `waiting`: some to begin with, where none is named */

/** @param {URLSearchParams} query */
const asked = (query) => ({ workload: query.get("workload") ?? "", node: query.get("node") ?? "" });

const SOME = 5;

/** @param {Schemas["WorkloadRow"][]} waiting */
function toPick(waiting) {
  if (!waiting.length) return nothing;
  const names = waiting.map((one) => `${one.namespace}/${one.name}`);
  return html`<p class="tools"><span class="soft">These wait now:</span>${names.map((name) => html`<button class="chip" @click=${() => setQuery({ workload: name })}>${name}</button>`)}</p>`;
}

export default definePage({
  title: (route) => {
    const { workload, node } = asked(route.query);
    return workload && node ? `Why not ${node}?` : "Why not?";
  },
  load: async ({ route, signal }) => {
    const { workload, node } = asked(route.query);
    if (!workload || !node) {
      const waiting = workload ? [] : (await get("/workloads", { state: "pending", limit: SOME }, signal)).items;
      return /** @type {Data} */ ({ answer: null, named: null, trouble: "", waiting });
    }
    try {
      const [answer, named] = await Promise.all([get(`/workloads/${segment(workload)}/why-not/${segment(node)}`, {}, signal), get(`/names/${segment(workload)}`, {}, signal)]);
      return { answer, named, trouble: "", waiting: [] };
    } catch (error) {
      if (error instanceof Problem && error.status >= 400 && error.status < 500) return { answer: null, named: null, trouble: error.message, waiting: [] };
      throw error;
    }
  },
  follows: (event, route) => event.node !== null && event.node === route.query.get("node"),
  everyS: 10,
  view: (/** @type {Data} */ data, context) => {
    const { workload, node } = asked(context.route.query);
    const chosen = (/** @type {SubmitEvent} */ event) => event.preventDefault();
    return html`<h1>Why not?</h1>
      <p class="lead">Pick a workload and a node: why it is not there, and what would have to change.</p>
      <form class="panel ask" @submit=${chosen}>
        ${nameField("workloads", "Workload", workload, (name) => setQuery({ workload: name }))}
        ${nameField("nodes", "Node", node, (name) => setQuery({ node: name }))}
        <button class="btn primary">Ask</button>
      </form>
      ${data.trouble ? html`<div class="notice bad" role="alert"><span class="bad">×</span><span class="grow">${data.trouble}</span></div>` : nothing}
      ${data.answer && data.named ? answered(data.answer, data.named.workloads[0]) : data.trouble ? nothing : html`${toPick(data.waiting)}${empty("Nothing was asked yet", nothing, "dovetail why-not WORKLOAD NODE")}`}`;
  },
});

/** @param {Schemas["WhyNotAnswer"]} answer @param {Schemas["WorkloadRow"]} workload */
function answered(answer, workload) {
  const sign = answer.refused.length ? html`<span class="bad">×</span>` : html`<span class="ok">✓</span>`;
  const here = { node: answer.node, total: answer.points.total, points: answer.points.scores, load: 0 };
  const ranked = answer.best.some((row) => row.node === answer.node) ? answer.best : [...answer.best, here];
  return html`<section class="panel" aria-label="The answer"><p class="answer" role="status">${sign} ${answer.answer}</p>
      <p class="soft"><a class="link" href=${pageOf.workload(workload.namespace, workload.name)}>${workload.namespace}/${workload.name}</a> · ${nodeLink(answer.node)}</p></section>
    ${answer.refused.length ? html`<section class="panel"><h2>What refuses it <small>every filter by itself</small></h2>${refusals(answer.refused)}</section>${change(answer.refused, workload, answer.node)}` : nothing}
    ${answer.refused.length === 0 && answer.best.length ? html`<section class="panel"><h2>Its points against the best <small>${answer.rank ? `number ${answer.rank} of ${answer.feasible}` : ""}</small></h2>${scoreTable({ best: ranked, weights: {} }, answer.node, "asked")}</section>` : nothing}`;
}

/** @param {Refusal[]} found */
const refusals = (found) =>
  html`<div class="scroll"><table>
    <thead><tr><th scope="col">Filter</th><th scope="col" class="num">Needed</th><th scope="col" class="num">There</th><th scope="col">Why</th><th scope="col">Would moving others help?</th></tr></thead>
    <tbody>${found.map((one) => html`<tr><td>${one.filter.replaceAll("_", " ")}</td><td class="num">${one.needed ?? "–"}</td><td class="num">${one.free ?? "–"}</td><td class="wrap">${one.message}</td><td>${one.eviction === "helps" ? html`<span class="ok">✓ yes</span>` : html`<span class="soft">no</span>`}</td></tr>`)}</tbody>
  </table></div>`;

/** The least that would have to be otherwise for this node. @param {Refusal[]} found @param {Schemas["WorkloadRow"]} workload @param {string} node */
function change(found, workload, node) {
  const amounts = found.filter((one) => one.resource && one.free !== undefined && one.free !== "0");
  const isOpen = workload.finished_at === null;
  const page = pageOf.workload(workload.namespace, workload.name);
  if (amounts.length === found.length) {
    /** @type {Record<string, string>} */
    const less = {};
    for (const one of amounts) less[one.resource ?? ""] = one.free ?? "";
    const words = amounts.map((one) => `${one.resource} ${one.free} instead of ${one.needed}`).join(" and ");
    const plan = `${page}?try=${encodeURIComponent(JSON.stringify({ resources: less }))}`;
    return html`<section class="panel"><h2>The smallest change</h2><p>Ask for <b>${words}</b>: ${node} has that much now. ${isOpen ? html`<a class="btn" href=${plan}>Plan this</a>` : nothing}</p></section>`;
  }
  const helps = found.every((one) => one.eviction === "helps");
  const words = helps ? `Nothing smaller fits: other work would have to leave ${node}.` : `For this node ${found.length === 1 ? "this has" : "all of these have"} to change: ${found.map((one) => one.filter.replaceAll("_", " ")).join(", ")}.`;
  return html`<section class="panel"><h2>The smallest change</h2><p>${words} ${isOpen ? html`<a class="link" href=${page}>What would help on any node</a>` : nothing}</p></section>`;
}
