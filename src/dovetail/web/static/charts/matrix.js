/** A matrix of distances: the colour says how far, the sign who says so. */
import { html } from "../core/view.js";
import { duration, number } from "../core/format.js";
import { onRamp, ramp } from "./scale.js";

/** @typedef {import("../types").Schemas["DistanceMatrix"]} DistanceMatrix */
/** @typedef {import("../types").Schemas["MatrixCell"]} MatrixCell */

/** Sign and words. @type {Record<string, [string, string]>} */
export const SOURCES = { by_hand: ["s", "set by hand"], described: ["d", "from the description"], measured: ["m", "measured"], estimated: ["e", "estimated from measurements"], by_level: ["", "from labels alone"], mixed: ["*", "from several sources"] };

const READABLE = 12; // with more names, figures stand in the title of a cell alone

/** @param {DistanceMatrix} shown @param {(row: string, column: string) => void} onPick */
export function matrix(shown, onPick) {
  const isSmall = shown.names.length <= READABLE;
  const used = new Set(shown.cells.flat().filter((cell) => cell.distance !== null).map((cell) => cell.source));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Distances">
      <table class="matrix">
        <caption class="sr">Distances</caption>
        <thead><tr><td></td>${shown.names.map((name) => html`<th scope="col"><span title=${name}>${name}</span></th>`)}</tr></thead>
        <tbody>${shown.names.map((row, i) => html`<tr><th scope="row" title=${`${shown.nodes[i]} nodes`}>${row}</th>${shown.names.map((column, j) => html`<td>${cellOf(shown.cells[i][j], row, column, isSmall, onPick)}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
    <div class="legend"><span>near <i class="ramp"></i> far</span>${Object.entries(SOURCES).filter(([source]) => used.has(source)).map(([, [sign, words]]) => html`<span>${sign ? html`<b>${sign}</b> ` : ""}${words}</span>`)}</div>`;
}

/** @param {MatrixCell} cell @param {string} row @param {string} column @param {boolean} isSmall @param {(row: string, column: string) => void} onPick */
function cellOf(cell, row, column, isSmall, onPick) {
  if (cell.distance === null) return html`<span class="cell none">–</span>`;
  const [sign, words] = SOURCES[cell.source] ?? ["", cell.source];
  const title = `${row} – ${column}: ${number(cell.distance)}, ${words}${cell.age_s === null ? "" : `, ${duration(cell.age_s)} ago`}`;
  const share = cell.distance / 100;
  return html`<button class="cell" .style=${`background:${ramp(share)};color:${onRamp(share)}`} title=${title} aria-label=${title} @click=${() => onPick(row, column)}>${isSmall ? html`${number(Math.round(cell.distance * 10) / 10)}<sup>${sign}</sup>` : sign}</button>`;
}
