/** Lines and areas over time. A missing value is a gap. */
import { html, nothing, svg } from "../core/view.js";
import { clock } from "../core/format.js";
import { category, roundAbove } from "./scale.js";

/** @typedef {(number | null)[]} Values */

/** Something that happened, drawn as a thin line across a chart. `x`: from 0 at the left to 1 at the right. @typedef {{x: number, words: string}} Mark */

/** @param {Mark[]} marks @param {number} width @param {number} bottom */
const markLines = (marks, width, bottom) =>
  marks.map(({ x, words }) => {
    const at = (x * width).toFixed(1);
    return svg`<g class="note-line"><line x1=${at} x2=${at} y1="0" y2=${bottom} vector-effect="non-scaling-stroke" /><line class="wide" x1=${at} x2=${at} y1="0" y2=${bottom} vector-effect="non-scaling-stroke"><title>${words}</title></line></g>`;
  });

/** A line without axes, beside a number. @param {Values} values @param {{top?: number, title: string, marks?: Mark[]}} how */
export function spark(values, { top, title, marks = [] }) {
  const known = values.filter((value) => value !== null);
  const most = top ?? (Math.max(...known, 0) || 1);
  const last = Math.max(1, values.length - 1);
  const point = (/** @type {number} */ value, /** @type {number} */ place) => `${((place * 100) / last).toFixed(2)},${(26 - (value / most) * 24).toFixed(2)}`;
  return html`<svg viewBox="0 0 100 28" preserveAspectRatio="none" role="img" aria-label=${title}>
    ${markLines(marks, 100, 28)}${pieces(values, point).map((points) => svg`<polyline fill="none" stroke="var(--accent)" stroke-width="1.5" stroke-linecap="round" vector-effect="non-scaling-stroke" points=${points} />`)}
  </svg>`;
}

/** The parts of a line between gaps; one value alone is a dot. @param {Values} values @param {(value: number, place: number) => string} point */
function pieces(values, point) {
  /** @type {string[]} */
  const found = [];
  /** @type {string[]} */
  let current = [];
  const end = () => {
    if (current.length) found.push((current.length === 1 ? [...current, ...current] : current).join(" "));
    current = [];
  };
  values.forEach((value, place) => (value === null ? end() : void current.push(point(value, place))));
  end();
  return found;
}

/** @typedef {{name: string, values: Values}} Series */

const WIDTH = 600;

/** Lines with axes. @param {{times: number[], series: Series[], height?: number, top?: number, words: (value: number) => string, title: string}} what */
export function lines({ times, series, height = 160, top, words, title }) {
  const most = top ?? roundAbove(Math.max(0, ...series.flatMap((one) => one.values.map((value) => value ?? 0))));
  const y = (/** @type {number} */ value) => height - 18 - (value / most) * (height - 28);
  const x = (/** @type {number} */ place) => (place * WIDTH) / Math.max(1, times.length - 1);
  const drawn = series.map((one, index) =>
    pieces(one.values, (value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).map((points) => svg`<polyline fill="none" stroke=${category(index)} stroke-width="1.5" stroke-linecap="round" vector-effect="non-scaling-stroke" points=${points} />`),
  );
  return html`${frame(times, height, most, words, title, drawn)}${legend(series.map((one) => one.name))}`;
}

/** Areas on top of each other, of things that are counted. @param {{times: number[], series: Series[], height?: number, words: (value: number) => string, title: string, marks?: Mark[]}} what */
export function stackedArea({ times, series, height = 200, words, title, marks = [] }) {
  const sums = times.map((_, place) => series.reduce((sum, one) => sum + (one.values[place] ?? 0), 0));
  const most = roundAbove(Math.max(2, ...sums)); // the half of one thing is none
  const y = (/** @type {number} */ value) => height - 18 - (value / most) * (height - 28);
  const x = (/** @type {number} */ place) => (place * WIDTH) / Math.max(1, times.length - 1);
  let base = times.map(() => 0);
  const drawn = series.map((one, index) => {
    const low = base;
    base = base.map((value, place) => value + (one.values[place] ?? 0));
    const upper = base.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`);
    const lower = low.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).reverse();
    return svg`<polygon fill=${category(index)} fill-opacity=".75" points=${[...upper, ...lower].join(" ")} />`;
  });
  return html`${frame(times, height, most, words, title, [drawn, markLines(marks, WIDTH, height - 18)])}${legend(series.map((one) => one.name))}`;
}

/** @param {number[]} times @param {number} height @param {number} most @param {(value: number) => string} words @param {string} title @param {unknown} drawn */
function frame(times, height, most, words, title, drawn) {
  const grid = [0, 0.5, 1].map((part) => {
    const level = height - 18 - part * (height - 28);
    return svg`<line x1="0" x2=${WIDTH} y1=${level} y2=${level} stroke="var(--line-2)" vector-effect="non-scaling-stroke" />`;
  });
  return html`<div class="axes">
    <svg class="chart" viewBox="0 0 ${WIDTH} ${height}" height=${height} preserveAspectRatio="none" role="img" aria-label=${title}>${grid}${drawn}</svg>
    <div class="y-axis" aria-hidden="true"><span>${words(most)}</span><span>${words(most / 2)}</span><span>${words(0)}</span></div>
    ${times.length > 1 ? html`<div class="x-axis" aria-hidden="true"><span>${clock(times[0])}</span><span>${clock(times[times.length - 1])}</span></div>` : nothing}
  </div>`;
}

/** @param {string[]} names */
export const legend = (names) => (names.length < 2 ? nothing : html`<div class="legend">${names.map((name, index) => html`<span><i .style=${`background:${category(index)}`}></i>${name}</span>`)}</div>`);
