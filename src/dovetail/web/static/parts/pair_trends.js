/** Latency and loss between two nodes or two domains over time: what was measured, and nothing in between. */
import { html } from "../core/view.js";
import { number, percent } from "../core/format.js";
import { lines } from "../charts/lines.js";
import { commandToCopy } from "./states.js";
import { rangeChoice, rangeOf } from "./time_range.js";

/** @typedef {import("../types").Schemas["TrendAnswer"]} TrendAnswer */

const MOST_S = 86400; // so long it is kept
const LEAST_LOSS = 0.05; // the scale goes at least so far: a little loss must not look like much

/** @param {URLSearchParams} query @returns {{name: string, words: string, seconds: number}} */
export function pairRange(query) {
  const found = rangeOf(query);
  return found.seconds <= MOST_S ? found : rangeOf(new URLSearchParams("range=24h"));
}

/** @param {number} ms */
const latency = (ms) => (ms < 1 ? `${number(1000 * ms)} µs` : `${number(ms)} ms`);

/** @param {TrendAnswer} trends @param {string} name */
const known = (trends, name) => trends.series[name].values.filter((value) => value !== null);

/** @param {TrendAnswer} trends @param {string} one @param {string} other @param {string | null} level @param {URLSearchParams} query */
export function pairTrends(trends, one, other, level, query) {
  const { name: since, words } = pairRange(query);
  const [rtts, losses] = [known(trends, "rtt"), known(trends, "loss")];
  const range = new URLSearchParams({ range: since });
  const about = `between ${one} and ${other} over the last ${words}`;
  const charts = html`<div class="grid node-trends">
      <div><h3>Round trip</h3>${rtts.length ? lines({ times: trends.times, series: [{ name: "round trip", values: trends.series.rtt.values }], height: 130, words: latency, title: `Round trip ${about}` }) : html`<p class="soft">No packet came back.</p>`}</div>
      <div><h3>Packets lost</h3>${lines({ times: trends.times, series: [{ name: "lost", values: trends.series.loss.values }], height: 130, top: Math.max(...losses) > LEAST_LOSS ? undefined : LEAST_LOSS, words: (value) => percent(value, 1), title: `Packets lost ${about}` })}</div>
    </div>
    <p class="soft after">${commandToCopy(`dovetail distance trends ${one} ${other}${level === null ? "" : ` --level ${level}`} --since ${since}`)}</p>`;
  return html`<div class="tools"><h3 class="grow">Measured over time</h3>${rangeChoice(range, MOST_S)}</div>
    ${losses.length ? charts : html`<p class="soft">Nobody measured in that time. Agents on both sides measure it.</p>`}`;
}
