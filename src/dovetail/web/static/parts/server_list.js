/** A list that the server searches, sorts and cuts into pages; what was asked for stands in the address. */
import { html, nothing } from "../core/view.js";
import { get } from "../core/api.js";
import { setQuery } from "../core/route.js";
import { searchField } from "./choices.js";
import { empty } from "./states.js";
import { exportButtons, pager, table } from "./table.js";

/** @typedef {import("../core/view.js").Rendered} Rendered */

const LIMIT = 50;

/**
 * @template Row
 * @typedef {{items: Row[], total: number, counts: Record<string, number>}} ListPage
 */

/** @param {URLSearchParams} query @param {string} sort where the address says none */
const wanted = (query, sort) => ({ search: query.get("search"), sort: query.get("sort") ?? sort });

/** The page of the list that the address asks for.
 * @param {string} path @param {URLSearchParams} query @param {string} sort @param {AbortSignal} [signal] @returns {Promise<any>} */
export const getPage = (path, query, sort, signal) => get(path, { ...wanted(query, sort), limit: LIMIT, offset: query.get("offset") }, signal);

/** The same as a panel: search, exports of everything that is found, table, pages.
 * @template Row
 * @param {object} what
 * @param {string} what.path where the list is, as `getPage` asked; also the name of exported files
 * @param {ListPage<Row>} what.data
 * @param {URLSearchParams} what.query
 * @param {string} what.sort as `getPage` asked
 * @param {import("./table.js").Column<Row>[]} what.columns
 * @param {(row: Row) => string | number} what.key
 * @param {string} what.caption
 * @param {string} what.find the words of the search field
 * @param {string} what.notFound where the search finds nothing
 * @param {Rendered} what.none where there is nothing to list
 * @param {(row: Row) => boolean} [what.picked]
 */
export function serverList({ path, data, query, sort, columns, key, caption, find, notFound, none, picked }) {
  const asked = wanted(query, sort);
  const offset = Number(query.get("offset") ?? 0);
  const all = async () => (await get(path, asked)).items;
  const more = (/** @type {string} */ words, /** @type {Record<string, null>} */ changes) => html`<button class="btn" @click=${() => setQuery(changes)}>${words}</button>`;
  const nothingHere = data.total ? empty("There are no rows here any more", more("Go to the first page", { offset: null })) : asked.search ? empty(notFound, more("Show all", { search: null, offset: null })) : none;
  return html`<div class="panel">
    <div class="tools">${searchField(asked.search ?? "", (search) => setQuery({ search, offset: null }), find)}<span class="grow"></span>${exportButtons(columns, all, path.slice(1))}</div>
    ${table({ columns, rows: data.items, key, sort: asked.sort, onSort: (next) => setQuery({ sort: next, offset: null }), caption, picked, empty: nothingHere })}
    ${data.items.length ? pager({ offset, limit: LIMIT, total: data.total, onGo: (next) => setQuery({ offset: next || null }) }) : nothing}
  </div>`;
}
