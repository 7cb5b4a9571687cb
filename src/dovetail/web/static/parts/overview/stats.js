/** The cluster in a few numbers, each with its recent past and the page that explains it. */
import { html } from "../../core/view.js";
import { count, duration, number, percent } from "../../core/format.js";
import { spark } from "../../charts/lines.js";

/** @typedef {import("../../types").Schemas["ClusterSummary"]} ClusterSummary */
/** @typedef {import("../../types").Schemas["TrendAnswer"]} TrendAnswer */
/** @typedef {{title: string, value: string, more: string, series: string, href: string, top?: number}} Stat */

/** The latest value that is known. @param {TrendAnswer} trends @param {string} name */
const latest = (trends, name) => trends.series[name]?.values.findLast((value) => value !== null) ?? null;

/** How much it differs from the beginning. @param {TrendAnswer} trends @param {string} name @param {string} range */
function moved(trends, name, range) {
  const known = (trends.series[name]?.values ?? []).filter((value) => value !== null);
  const change = known.length > 1 ? 100 * (known[known.length - 1] - known[0]) : 0;
  return Math.abs(change) < 0.1 ? "" : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} points in ${range}`;
}

/** @param {ClusterSummary} summary @param {TrendAnswer} trends @param {string} range @returns {Stat[]} */
function statsOf({ resources, waiting }, trends, range) {
  const hasGpus = (resources.gpu?.capacity ?? 0) > 0;
  const [p90, p99, failures] = [latest(trends, "wait_p90"), latest(trends, "decision_p99"), latest(trends, "failures")];
  const amount = (/** @type {{allocated: number, capacity: number} | undefined} */ use) => (use ? `${count(use.allocated)} of ${count(use.capacity)}` : "");
  /** @type {Stat[]} */
  const uses = hasGpus
    ? [
        { title: "GPUs in use", value: percent(resources.gpu?.share), more: amount(resources.gpu), series: "gpu", href: "/topology", top: 1 },
        { title: "CPU in use", value: percent(resources.cpu?.share), more: amount(resources.cpu), series: "cpu", href: "/nodes", top: 1 },
        { title: "Unusable free GPUs", value: percent(latest(trends, "fragmentation"), 1), more: moved(trends, "fragmentation", range), series: "fragmentation", href: "/topology?colour=fragment" },
      ]
    : [
        { title: "CPU in use", value: percent(resources.cpu?.share), more: amount(resources.cpu), series: "cpu", href: "/topology", top: 1 },
        { title: "Memory in use", value: percent(resources.memory?.share), more: "", series: "memory", href: "/nodes", top: 1 },
      ];
  return [
    ...uses,
    { title: "Waiting", value: count(waiting), more: p90 === null || !waiting ? "" : `p90 wait ${duration(p90)}`, series: "waiting", href: "/workloads?state=pending" },
    { title: "Decisions", value: `${number(Math.round((latest(trends, "decisions") ?? 0) * 10) / 10)} /s`, more: p99 === null ? "" : `p99 ${number(Math.round(p99 * 10) / 10)} ms`, series: "decisions", href: "/events?kind=placed" },
    { title: "Failures", value: failures === null ? "–" : `${number(Math.round(failures * 10) / 10)} /min`, more: "", series: "failures", href: "/workloads?state=failed" },
  ];
}

/** @param {ClusterSummary} summary @param {TrendAnswer} trends @param {string} range in words @param {import("../../charts/lines.js").Mark[]} marks */
export const statTiles = (summary, trends, range, marks) => html`<div class="grid stats">
  ${statsOf(summary, trends, range).map(
    (one) => html`<a class="panel stat" href=${one.href}>
      <div class="k">${one.title}</div>
      <div class="v">${one.value} <small>${one.more}</small></div>
      ${spark(trends.series[one.series]?.values ?? [], { top: one.top, title: `${one.title}, last ${range}`, marks })}
    </a>`,
  )}
</div>`;
