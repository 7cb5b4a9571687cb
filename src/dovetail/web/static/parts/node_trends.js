/** What was requested of a node and what it measured itself, over time. */
import { html, nothing } from "../core/view.js";
import { percent } from "../core/format.js";
import { lines } from "../charts/lines.js";
import { commandToCopy } from "./states.js";
import { rangeChoice, rangeOf } from "./time_range.js";

/** @typedef {import("../types").Schemas["TrendAnswer"]} TrendAnswer */

const RESOURCES = [["cpu", "CPU"], ["memory", "Memory"], ["gpu", "GPU"]];

/** @param {TrendAnswer} trends @param {string} name */
const known = (trends, name) => trends.series[name]?.values.some((value) => value !== null) ?? false;

/** @param {TrendAnswer} trends @param {string} name @param {string} words @param {string} range */
function chart(trends, name, words, range) {
  const series = [[name, "requested"], [`${name}_observed`, "observed"]].filter(([one]) => one === name || known(trends, one)).map(([one, says]) => ({ name: says, values: trends.series[one].values }));
  const isOver = series.some((one) => one.values.some((value) => (value ?? 0) > 1));
  return html`<div><h3>${words}</h3>${lines({ times: trends.times, series, height: 110, top: isOver ? undefined : 1, words: (value) => percent(value), title: `${words} over the last ${range}` })}</div>`;
}

/** @param {TrendAnswer} trends @param {string} node @param {URLSearchParams} query */
export function nodeTrends(trends, node, query) {
  const { name: since, words } = rangeOf(query);
  const shown = RESOURCES.filter(([name]) => known(trends, name));
  return html`<section class="panel" aria-label="Use over time">
    <div class="tools"><h2 class="grow">Use over time <small>${known(trends, "cpu_observed") ? "what work requested, and what the machine measured" : "what work requested; the machine does not measure its use"}</small></h2>${rangeChoice(query)}</div>
    ${shown.length ? html`<div class="grid node-trends">${shown.map(([name, says]) => chart(trends, name, says, words))}</div>` : html`<p class="soft">Nothing is recorded yet; the first values come within a minute.</p>`}
    ${shown.length ? html`<p class="soft after">${commandToCopy(`dovetail trends --node ${node} --since ${since}`)}</p>` : nothing}
  </section>`;
}
