/** Tables: sorted by the server or here, exported as CSV and JSON. */
import { html, nothing, repeat } from "../core/view.js";
import { download } from "../core/notices.js";
import { count } from "../core/format.js";

/** @typedef {import("../core/view.js").Rendered} Rendered */

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} name as exports and `sort` write it
 * @property {string} title
 * @property {(row: Row) => Rendered} cell
 * @property {(row: Row) => string | number | boolean | null | undefined} [value] for exports and sorting here; without it the column is not exported
 * @property {boolean} [isNumber]
 * @property {boolean} [wraps] a sentence, which may take several lines
 * @property {boolean} [sorts] its title sorts the table
 */

/**
 * @template Row
 * @param {object} what
 * @param {Column<Row>[]} what.columns
 * @param {Row[]} what.rows
 * @param {(row: Row) => string | number} what.key
 * @param {string} [what.sort] the name of a column; with `-` before it, descending
 * @param {(sort: string) => void} [what.onSort]
 * @param {string} what.caption what the table shows, for readers of screens and names of files
 * @param {(row: Row) => boolean} [what.picked]
 * @param {Rendered} [what.empty]
 */
export function table({ columns, rows, key, sort = "", onSort, caption, picked, empty = nothing }) {
  if (rows.length === 0) return empty;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption class="sr">${caption}</caption>
      <thead><tr>${columns.map((column) => heading(column, sort, onSort))}</tr></thead>
      <tbody>
        ${repeat(rows, key, (row) => html`<tr class=${picked?.(row) ? "pick" : ""}>${columns.map((column) => html`<td class=${kindOf(column)}>${column.cell(row)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

/** @template Row @param {Column<Row>} column */
const kindOf = (column) => [column.isNumber ? "num" : "", column.wraps ? "wrap" : ""].join(" ").trim();

/** @template Row @param {Column<Row>} column @param {string} sort @param {((sort: string) => void) | undefined} onSort */
function heading(column, sort, onSort) {
  const isDown = sort === `-${column.name}`;
  const isBy = isDown || sort === column.name;
  if (!column.sorts || !onSort) return html`<th scope="col" class=${kindOf(column)}>${column.title}</th>`;
  const next = isBy && !isDown ? `-${column.name}` : column.name;
  return html`<th scope="col" class=${kindOf(column)} aria-sort=${isBy ? (isDown ? "descending" : "ascending") : "none"}>
    <button @click=${() => onSort(next)}>${column.title}${isBy ? (isDown ? " ↓" : " ↑") : ""}</button>
  </th>`;
}

/** Rows sorted here, where the server gives all of them. @template Row @param {Row[]} rows @param {Column<Row>[]} columns @param {string} sort */
export function sorted(rows, columns, sort) {
  const isDown = sort.startsWith("-");
  const value = columns.find((column) => column.name === sort.replace(/^-/, ""))?.value;
  if (!value) return rows;
  const order = (/** @type {Row} */ a, /** @type {Row} */ b) => compare(value(a), value(b)) * (isDown ? -1 : 1);
  return [...rows].sort(order);
}

/** @param {unknown} a @param {unknown} b */
function compare(a, b) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Buttons that export rows. `all`: gets every row where the table shows a page of them.
 * @template Row @param {Column<Row>[]} columns @param {() => Promise<Row[]> | Row[]} all @param {string} name of the file */
export function exportButtons(columns, all, name) {
  const exported = columns.filter((column) => column.value);
  const asCsv = async () => {
    const lines = (await all()).map((row) => exported.map((column) => csvCell(column.value?.(row))).join(","));
    download(`${name}.csv`, [exported.map((column) => column.name).join(","), ...lines, ""].join("\n"), "text/csv");
  };
  const asJson = async () => download(`${name}.json`, JSON.stringify(await all(), null, 2), "application/json");
  return html`<span class="exports"><button class="btn quiet" @click=${asCsv}>CSV</button><button class="btn quiet" @click=${asJson}>JSON</button></span>`;
}

/** A spreadsheet must not take a name for a formula. @param {unknown} value */
function csvCell(value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Which part of all rows is shown, and the way to the others.
 * @param {{offset: number, limit: number, total: number, onGo: (offset: number) => void}} where */
export function pager({ offset, limit, total, onGo }) {
  if (total <= limit && offset === 0) return html`<p class="soft">${count(total)} ${total === 1 ? "row" : "rows"}</p>`;
  const last = Math.min(offset + limit, total);
  return html`<div class="tools">
    <span class="soft">${count(offset + 1)}–${count(last)} of ${count(total)}</span>
    <button class="btn" ?disabled=${offset === 0} @click=${() => onGo(Math.max(0, offset - limit))}>Before</button>
    <button class="btn" ?disabled=${last >= total} @click=${() => onGo(offset + limit)}>Next</button>
  </div>`;
}
