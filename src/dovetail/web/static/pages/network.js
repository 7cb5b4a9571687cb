/** The network: how far domains are from each other, who says so, and where description and measurement disagree. */
import { html, nothing } from "../core/view.js";
import { get, getShared } from "../core/api.js";
import { definePage } from "../core/page.js";
import { setQuery } from "../core/route.js";
import { count, duration, number, percent, plural } from "../core/format.js";
import { nodeLink } from "../parts/badge.js";
import { segments } from "../parts/choices.js";
import { pairRange, pairTrends } from "../parts/pair_trends.js";
import { commandToCopy, empty } from "../parts/states.js";
import { exportButtons, table } from "../parts/table.js";
import { SOURCES, matrix } from "../charts/matrix.js";
import { meter } from "../charts/bars.js";

/** @typedef {import("../types").Schemas["DistanceMatrix"]} DistanceMatrix */
/** @typedef {import("../types").Schemas["TopologyAnswer"]} TopologyAnswer */
/** @typedef {import("../types").Schemas["DomainRow"]} DomainRow */
/** @typedef {import("../types").Schemas["DistanceBetween"]} DistanceBetween */
/** @typedef {import("../types").Schemas["MeasuredPairList"]} MeasuredPairList */
/** @typedef {import("../types").Schemas["MeasuredDistance"]} MeasuredDistance */
/** @typedef {import("../types").Schemas["TrendAnswer"]} TrendAnswer */
/** @typedef {{shown: DistanceMatrix, topology: TopologyAnswer, domains: DomainRow[], measured: MeasuredPairList, pair: DistanceBetween | null, trends: TrendAnswer | null}} NetworkData */

const POINTS = 144;
const CLOSED = { from: null, to: null, between: null, and: null };

/** @param {number | null} us microseconds */
const latency = (us) => (us === null ? html`<span class="faint">–</span>` : us < 1000 ? `${number(us)} µs` : `${number(us / 1000)} ms`);
/** @param {number | null} mbps */
const rate = (mbps) => (mbps === null ? html`<span class="faint">–</span>` : mbps >= 1000 ? `${number(mbps / 1000)} Gbit/s` : `${number(mbps)} Mbit/s`);

/** @type {import("../parts/table.js").Column<DomainRow>[]} */
const DOMAINS = [
  { name: "name", title: "Domain", cell: (row) => html`<a class="link" href=${`/network?level=${encodeURIComponent(row.level)}&domain=${encodeURIComponent(row.name)}`}>${row.name}</a>`, value: (row) => row.name },
  { name: "nodes", title: "Nodes", isNumber: true, cell: (row) => `${count(row.healthy)}/${count(row.nodes)}`, value: (row) => row.nodes },
  { name: "gpu", title: "GPUs free", isNumber: true, cell: (row) => `${number(row.gpu.free)} of ${number(row.gpu.capacity)}`, value: (row) => row.gpu.free },
  { name: "up_mbps", title: "Uplinks", isNumber: true, cell: (row) => rate(row.up_mbps), value: (row) => row.up_mbps },
  { name: "held", title: "Held by gangs", cell: (row) => html`<span class="use">${meter(row.up_mbps ? row.held_mbps / row.up_mbps : 0, `held of ${row.name}`)}<span class="soft">${percent(row.up_mbps ? row.held_mbps / row.up_mbps : 0)}</span></span>`, value: (row) => row.held_mbps },
  { name: "free_mbps", title: "Left", isNumber: true, cell: (row) => rate(row.free_mbps), value: (row) => row.free_mbps },
];

/** @type {import("../parts/table.js").Column<MeasuredDistance>[]} */
const MEASURED = [
  { name: "from", title: "From", cell: (row) => nodeLink(row.from), value: (row) => row.from },
  { name: "to", title: "To", cell: (row) => nodeLink(row.to), value: (row) => row.to },
  { name: "distance", title: "Distance", isNumber: true, cell: (row) => number(row.distance), value: (row) => row.distance },
  { name: "rtt_us", title: "Round trip", isNumber: true, cell: (row) => html`<a class="link" title="Over time" href=${`/network?from=${encodeURIComponent(row.from)}&to=${encodeURIComponent(row.to)}`}>${latency(row.rtt_us)}</a>`, value: (row) => row.rtt_us },
  { name: "rtt_p99_us", title: "99 % within", isNumber: true, cell: (row) => latency(row.rtt_p99_us), value: (row) => row.rtt_p99_us },
  { name: "loss", title: "Loss", isNumber: true, cell: (row) => (row.loss === null ? html`<span class="faint">–</span>` : percent(row.loss, 2)), value: (row) => row.loss },
  { name: "mbps", title: "Bandwidth", isNumber: true, cell: (row) => html`${row.at_least ? "at least " : ""}${rate(row.mbps)}`, value: (row) => row.mbps },
  { name: "age_s", title: "Measured", isNumber: true, cell: (row) => (row.age_s === null ? "estimated" : `${duration(row.age_s)} ago`), value: (row) => row.age_s },
];

/** @param {DistanceBetween} pair @param {TrendAnswer} trends @param {URLSearchParams} query */
function pairPanel(pair, trends, query) {
  const { measured, path } = pair;
  return html`<section class="panel" aria-label="One pair"><div class="head"><h2>${nodeLink(pair.from)} – ${nodeLink(pair.to)}</h2><button class="btn quiet" aria-label="Close" @click=${() => setQuery(CLOSED)}>×</button></div>
    <dl class="pairs"><dt>Distance</dt><dd>${number(pair.distance)} of 100, ${SOURCES[pair.source]?.[1] ?? pair.source}${pair.level ? `; both are in one ${pair.level}` : ""}</dd>
      ${path ? html`<dt>Path</dt><dd>${plural(path.hops, "hop")}, ${latency(path.latency_us)}, ${rate(path.mbps)} of which ${rate(path.headroom_mbps)} are left, ${percent(path.loss, 2)} lost</dd>` : nothing}
      ${measured ? html`<dt>Measured</dt><dd>${latency(measured.rtt_us)} round trip${measured.age_s === null ? ", estimated from others" : html`, ${duration(measured.age_s)} ago; 99 % within ${latency(measured.rtt_p99_us)}`}${measured.loss === null ? nothing : html`, ${percent(measured.loss, 2)} lost`}</dd>` : html`<dt>Measured</dt><dd class="soft">not measured; agents on both nodes measure it</dd>`}</dl>${pairTrends(trends, pair.from, pair.to, null, query)}</section>`;
}

/** @param {DistanceMatrix} shown @param {string} one @param {string} other @param {TrendAnswer} trends @param {URLSearchParams} query */
function domainsPanel(shown, one, other, trends, query) {
  const cell = shown.cells[shown.names.indexOf(one)]?.[shown.names.indexOf(other)];
  const said = !cell || cell.distance === null ? "not known" : `${number(cell.distance)} of 100, ${SOURCES[cell.source]?.[1] ?? cell.source}`;
  const open = [...new Set([one, other])].map((name) => html`<button class="btn" @click=${() => setQuery({ ...CLOSED, domain: name }, { push: true })}>Nodes of ${name}</button>`);
  return html`<section class="panel" aria-label="Two domains"><div class="head"><h2>${one === other ? `Inside ${shown.level} ${one}` : `${shown.level} ${one} – ${other}`}</h2><div class="actions">${open}<button class="btn quiet" aria-label="Close" @click=${() => setQuery(CLOSED)}>×</button></div></div>
    <dl class="pairs"><dt>Distance</dt><dd>${said}</dd></dl>${pairTrends(trends, one, other, shown.level, query)}</section>`;
}

/** Of the pair of nodes or domains that the address names. @param {URLSearchParams} query @param {string | null} level @param {AbortSignal} signal */
function trendsOf(query, level, signal) {
  const asked = { since: pairRange(query).seconds, points: POINTS };
  if (query.get("from") && query.get("to")) return getShared(9, "/distances/trends", { from: query.get("from"), to: query.get("to"), ...asked }, signal);
  if (query.get("between") && query.get("and") && level) return getShared(9, "/distances/trends", { from: query.get("between"), to: query.get("and"), level, ...asked }, signal);
  return null;
}

export default definePage({
  title: () => "Network",
  everyS: 15,
  /** @returns {Promise<NetworkData>} */
  load: async ({ route, signal }) => {
    const query = route.query;
    const [shown, topology, measured] = await Promise.all([get("/distances/matrix", { level: query.get("level"), domain: query.get("domain") }, signal), get("/topology", {}, signal), get("/distances/measured", { limit: 50 }, signal)]);
    const [domains, pair, trends] = await Promise.all([shown.level ? get("/topology/domains", { level: shown.level }, signal) : { items: [] }, query.get("from") && query.get("to") ? get("/distances", { from: query.get("from"), to: query.get("to") }, signal) : null, trendsOf(query, shown.level, signal)]);
    return { shown, topology, domains: domains.items, measured, pair, trends };
  },
  view: (data, { route }) => {
    const { shown, topology, measured, pair, trends } = data;
    const [between, and] = [route.query.get("between"), route.query.get("and")];
    const pick = (/** @type {string} */ a, /** @type {string} */ b) => (shown.domain !== null || shown.level === null ? setQuery({ from: a, to: b }) : setQuery({ ...CLOSED, between: a, and: b }));
    const what = shown.domain !== null ? `the nodes of ${shown.level} ${shown.domain}` : shown.level === null ? "nodes" : `domains of level ${shown.level}`;
    const sentence = topology.contradictions.length ? `${plural(topology.contradictions.length, "node")} measure unlike their description.` : topology.described ? "The description and what was measured agree." : "Nobody has described the network: labels of nodes say where they are.";
    return html`<h1>Network</h1><p class="lead">${plural(topology.levels.length, "level")}, ${plural(measured.total, "measured pair")}. ${sentence}</p>
      ${topology.contradictions.map((words) => html`<div class="notice"><span class="warn">!</span><span class="grow">${words}</span></div>`)}
      ${pair && trends ? pairPanel(pair, trends, route.query) : between && and && trends ? domainsPanel(shown, between, and, trends, route.query) : nothing}
      <div class="panel">
        <div class="tools"><h2 class="grow">How far ${what} are from each other <small>0 is near, 100 is far</small></h2>
          ${shown.domain !== null ? html`<button class="btn" @click=${() => setQuery({ ...CLOSED, domain: null })}>All of level ${shown.level}</button>` : nothing}
          ${shown.levels.length ? segments(shown.levels.map((name) => /** @type {const} */ ([name, name])), shown.level ?? "", (level) => setQuery({ ...CLOSED, level, domain: null }), "Level") : nothing}</div>
        ${shown.names.length ? matrix(shown, pick) : empty("There are no nodes", nothing, "dovetail token join")}
        ${shown.left_off ? html`<p class="soft">The first ${count(shown.names.length)}; ${count(shown.left_off)} more are not shown. Choose a wider level, or open a domain.</p>` : nothing}
        <p class="soft">${shown.domain === null && shown.level !== null ? "A cell says how its two domains were over time, and opens their nodes. Each domain is represented by a few of its nodes." : "A cell says more about its pair."}</p>
      </div>
      ${data.domains.length ? html`<div class="panel"><div class="tools"><h2 class="grow">Domains of level ${shown.level}</h2>${exportButtons(DOMAINS, () => data.domains, `domains-${shown.level}`)}</div>${table({ columns: DOMAINS, rows: data.domains, key: (row) => row.name, caption: `Domains of level ${shown.level}` })}</div>` : nothing}
      <div class="panel"><div class="tools"><h2 class="grow">Measured <small>${measured.total ? `the nearest of ${plural(measured.total, "pair")}` : ""}</small></h2>${exportButtons(MEASURED, () => measured.items, "measured-distances")}</div>
        ${table({ columns: MEASURED, rows: measured.items, key: (row) => `${row.from} ${row.to}`, caption: "Measured pairs", empty: empty("Nobody has measured yet", "Agents measure the network between their machines.", "dovetail agent --help") })}</div>
      <p class="soft">${commandToCopy("dovetail topology")}</p>`;
  },
});
