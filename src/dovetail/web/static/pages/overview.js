/** The cluster at a glance: what needs attention first, then how it is and was, what was decided, what changed. */
import { html, nothing } from "../core/view.js";
import { getShared } from "../core/api.js";
import { definePage } from "../core/page.js";
import { clock, count, plural } from "../core/format.js";
import { heatStrip } from "../charts/bars.js";
import { stackedArea } from "../charts/lines.js";
import { commandToCopy } from "../parts/states.js";
import { attentionPanel } from "../parts/overview/attention.js";
import { CHANGES, changesPanel } from "../parts/overview/changes.js";
import { decisionsPanel } from "../parts/overview/decisions.js";
import { marksOf, noteLegend } from "../parts/overview/notes.js";
import { statTiles } from "../parts/overview/stats.js";
import { rangeChoice, rangeOf, recordedRange } from "../parts/time_range.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {{summary: Schemas["ClusterSummary"], attention: Schemas["AttentionAnswer"], trends: Schemas["TrendAnswer"], decisions: Schemas["RecentDecision"][], changes: Schemas["HistoryRow"][], notes: Schemas["HistoryRow"][]}} Data */

const POINTS = 48;
const SERIES = "cpu,memory,gpu,fragmentation,waiting,wait_p90,decisions,decision_p99,failures,waiting_by_queue,use_by_domain";
const MOST_CHANGES = 300;
const MOST_DOMAINS = 25;
const MOST_NOTES = 100;

/** When the first recorded step began, in seconds; as far as is known. */
let recordedSince = 0;
let restMs = 3000; // between two looks: longer where the server takes long to answer

/** Answers that change slowly are kept for a while. @type {Map<string, {at: number, answer: Promise<any>}>} */
const kept = new Map();

/** @param {string} key @param {number} forS @param {() => Promise<any>} ask */
function slowly(key, forS, ask) {
  const known = kept.get(key);
  if (known && performance.now() - known.at < forS * 1000) return known.answer;
  const answer = ask();
  kept.set(key, { at: performance.now(), answer });
  answer.catch(() => kept.delete(key));
  return answer;
}

/** @param {URLSearchParams} query @returns {Promise<Data["trends"]>} */
async function trendsOf(query) {
  const { seconds: since, words } = recordedRange(query, recordedSince);
  const found = await slowly(`trends ${words}`, 9, () => getShared(9, "/trends", { since, points: POINTS, series: SERIES }));
  const first = found.times.findIndex((/** @type {number} */ _, /** @type {number} */ at) => Object.values(found.series).some((/** @type {any} */ one) => one.values[at] !== null));
  if (first > 0 && found.times[first] > recordedSince) {
    recordedSince = found.times[first];
    if (recordedRange(query, recordedSince).seconds !== since) return trendsOf(query);
  }
  return found;
}

/** @param {Data} data */
function lead({ summary, attention }) {
  const gpus = summary.resources.gpu?.capacity ?? 0;
  const parts = [plural(summary.nodes.total, "node"), ...(gpus ? [`${count(gpus)} GPUs`] : []), `${count(summary.workloads.running ?? 0)} running`, `${count(summary.waiting)} waiting`];
  const words = attention.total === 0 ? "All is well." : `${plural(attention.total, "thing needs", "things need")} attention.`;
  return `${parts.join(", ")}. ${words}`;
}

/** @param {Data["trends"]} trends @param {string} range */
function useByDomain(trends, range) {
  const all = Object.entries(trends.groups.use_by_domain ?? {});
  if (!all.length) return nothing;
  const rows = all.slice(0, MOST_DOMAINS).map(([name, values]) => ({ name, values, href: `/topology?at=${encodeURIComponent(name)}` }));
  return html`<section class="panel" aria-label="Use by domain">
    <h2>${trends.series.gpu?.values.some((value) => value !== null) ? "GPU" : "CPU"} use by domain, ${range}</h2>
    ${heatStrip(rows, trends.times, `Use by domain over the last ${range}`)}
    <div class="heat-row faint" aria-hidden="true"><span></span><span class="x-axis"><span>${clock(trends.times[0])}</span><span>${clock(trends.times[trends.times.length - 1])}</span></span></div>
    <p class="legend after"><span>idle <span class="ramp"></span> full</span>${all.length > rows.length ? html`<a class="link" href="/topology">${count(all.length - rows.length)} more on the map</a>` : nothing}</p>
  </section>`;
}

/** @param {Data["trends"]} trends @param {Data["notes"]} notes */
function waitingByQueue(trends, notes) {
  const series = Object.entries(trends.groups.waiting_by_queue ?? {}).map(([name, values]) => ({ name, values }));
  return html`<section class="panel" aria-label="Waiting by queue">
    <h2>Waiting by queue</h2>
    ${series.length ? stackedArea({ times: trends.times, series, words: count, title: "Waiting workloads by queue", marks: marksOf(notes, trends.times) }) : html`<p class="soft">Nothing has waited.</p>`}
    ${noteLegend(notes, trends.times)}
    <p class="after"><a class="link" href="/queues">Queues, and who waits for what</a></p>
  </section>`;
}

const firstSteps = () => html`<section class="panel" aria-label="First steps">
  <h2>No nodes yet: this is how it begins</h2>
  <ol class="steps">
    <li><b>Bring machines.</b> <span class="soft">Make a token here, then start an agent on each of them:</span><p>${commandToCopy("dovetail token join")}</p></li>
    <li><b>Or a system that has some.</b> <span class="soft">Docker, Slurm, Kubernetes, clouds and more:</span><p>${commandToCopy("dovetail backend add --help")}</p></li>
    <li><b>Or look at a simulated cluster first.</b><p>${commandToCopy("dovetail demo --port 8090")}</p></li>
  </ol>
</section>`;

const firstWork = () => html`<section class="panel" aria-label="First work"><h2>No work yet</h2><p class="soft">Submit some, here or in a terminal:</p><p>${commandToCopy("dovetail submit --name hello -- echo hello")} <a class="btn primary" href="/submit">Submit</a></p></section>`;

export default definePage({
  title: () => "Overview",
  everyS: 5,
  get atMostEveryMs() {
    return restMs;
  },
  follows: (event) => event.kind === "node" || event.kind === "note" || event.kind === "backend" || event.kind === "placed" || event.kind === "waiting",
  load: async ({ route, signal }) => {
    const began = performance.now();
    const since = 60 * Math.floor(Date.now() / 60_000) - 3600;
    const maxAgeS = restMs / 1500; // of answers: those of other pages are as good
    const [summary, attention, trends, decisions, changes, notes] = await Promise.all([
      getShared(maxAgeS, "/summary", {}, signal),
      getShared(maxAgeS, "/attention", {}, signal),
      trendsOf(route.query),
      getShared(maxAgeS, "/decisions", { limit: 10 }, signal),
      slowly("changes", 15, () => getShared(10, "/events", { newest: true, since, kind: CHANGES, limit: MOST_CHANGES })),
      getShared(maxAgeS, "/events", { newest: true, since: 60 * Math.floor(Date.now() / 60_000) - rangeOf(route.query).seconds, kind: ["note"], limit: MOST_NOTES }, signal),
    ]);
    restMs = Math.min(10_000, Math.max(3000, 20 * (performance.now() - began)));
    return { summary, attention, trends, decisions: decisions.items, changes: changes.items, notes: notes.items };
  },
  view: (/** @type {Data} */ data, { route }) => {
    const { words } = recordedRange(route.query, recordedSince);
    const total = Object.values(data.summary.workloads).reduce((sum, one) => sum + one, 0);
    if (!data.summary.nodes.total) return html`<h1>Overview</h1><p class="lead">The server runs and has no nodes.</p>${firstSteps()}${data.attention.items.length ? attentionPanel(data.attention, true) : nothing}`;
    return html`<div class="head"><div><h1>Overview</h1><p class="lead">${lead(data)}</p></div>${rangeChoice(route.query)}</div>
      ${attentionPanel(data.attention, route.query.has("all"))} ${total ? nothing : firstWork()} ${statTiles(data.summary, data.trends, words, marksOf(data.notes, data.trends.times))}
      <div class="grid g2"><div>${useByDomain(data.trends, words)}</div><div>${waitingByQueue(data.trends, data.notes)}${changesPanel(data.changes, data.changes.length >= MOST_CHANGES)}</div></div>
      ${decisionsPanel(data.decisions)}`;
  },
});
