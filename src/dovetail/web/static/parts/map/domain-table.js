/** The map as a table: the domains inside the one that is looked at, and its nodes. */
import { html } from "../../core/view.js";
import { setQuery } from "../../core/route.js";
import { count, percent } from "../../core/format.js";
import { nodeLink, state } from "../badge.js";
import { exportButtons, pager, sorted, table } from "../table.js";
import { gpusInUse } from "./card.js";

/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */
/** @typedef {{name: string, level: string, nodes: MapNode[], gpus: number, used: number, use: number, trouble: number}} DomainRow */
/** @template Row @typedef {import("../table.js").Column<Row>} Column */

const AT_ONCE = 100;

/** @type {Column<DomainRow>[]} */
const DOMAINS = [
  { name: "domain", title: "Domain", cell: (row) => html`<button class="as-link" @click=${() => setQuery({ at: row.name, eye: null }, { push: true })}>${row.name}</button>`, value: (row) => row.name, sorts: true },
  { name: "level", title: "Level", cell: (row) => row.level, value: (row) => row.level },
  { name: "nodes", title: "Nodes", cell: (row) => count(row.nodes.length), value: (row) => row.nodes.length, isNumber: true, sorts: true },
  { name: "gpus", title: "GPUs", cell: (row) => count(row.gpus), value: (row) => row.gpus, isNumber: true, sorts: true },
  { name: "gpus_in_use", title: "In use", cell: (row) => count(row.used), value: (row) => row.used, isNumber: true, sorts: true },
  { name: "use", title: "Use", cell: (row) => percent(row.use), value: (row) => row.use, isNumber: true, sorts: true },
  { name: "not_ok", title: "Nodes not ok", cell: (row) => (row.trouble ? html`<span class="bad">${row.trouble}</span>` : "0"), value: (row) => row.trouble, isNumber: true, sorts: true },
];

/** @param {MapModel} model @returns {Column<MapNode>[]} */
const nodeColumns = (model) => [
  { name: "node", title: "Node", cell: (row) => nodeLink(row.name), value: (row) => row.name, sorts: true },
  { name: "place", title: "Place", cell: (row) => model.placeOf(row).join(" › "), value: (row) => model.placeOf(row).join("/"), sorts: true },
  { name: "health", title: "Health", cell: (row) => state(model.legend[row.health]), value: (row) => model.legend[row.health], sorts: true },
  { name: "gpus", title: "GPUs in use", cell: (row) => (row.gpus ? `${gpusInUse(row)} of ${row.gpus}` : "–"), value: (row) => gpusInUse(row), isNumber: true, sorts: true },
  { name: "cpu", title: "CPU", cell: (row) => percent(row.cpu), value: (row) => row.cpu, isNumber: true, sorts: true },
  { name: "memory", title: "Memory", cell: (row) => percent(row.memory), value: (row) => row.memory, isNumber: true, sorts: true },
  { name: "tenant", title: "Held most by", cell: (row) => model.tenants[row.tenant] ?? "–", value: (row) => model.tenants[row.tenant] ?? "", sorts: true },
  { name: "unusable", title: "Free, unusable", cell: (row) => percent(row.fragment), value: (row) => row.fragment, isNumber: true, sorts: true },
  { name: "forecast", title: "In 1 h", cell: (row) => percent(row.forecast), value: (row) => row.forecast, isNumber: true, sorts: true },
];

/** @param {MapModel} model @param {string} at @param {Set<number>} found rows that were searched @param {import("../../core/route.js").Route} route */
export function domainTable(model, at, found, route) {
  const inside = [...model.nodes.values()].filter((node) => (!at || node.name === at || model.placeOf(node).includes(at)) && (!found.size || found.has(node.row)));
  const index = model.domains.findIndex((domain) => domain.name === at);
  const domains = found.size || (at && index < 0) ? [] : childrenOf(model, index, inside);
  const sort = route.query.get("sort") ?? "";
  const onSort = (/** @type {string} */ next) => setQuery({ sort: next, offset: null });
  if (domains.length)
    return html`${table({ columns: DOMAINS, rows: sorted(domains, DOMAINS, sort), key: (row) => row.name, sort, onSort, caption: `Domains in ${at || "the cluster"}` })}<div class="tools">${exportButtons(DOMAINS.filter((column) => column.value), () => domains, "domains")}</div>`;
  const columns = nodeColumns(model);
  const rows = sorted(inside, columns, sort || "node");
  const offset = Number(route.query.get("offset") ?? 0);
  return html`${table({ columns, rows: rows.slice(offset, offset + AT_ONCE), key: (row) => row.row, sort: sort || "node", onSort, caption: `Nodes in ${at || "the cluster"}`, empty: html`<p class="soft">No nodes here.</p>` })}
    <div class="tools">${pager({ offset, limit: AT_ONCE, total: rows.length, onGo: (next) => setQuery({ offset: next || null }) })}<span class="grow"></span>${exportButtons(columns, () => rows, "nodes")}</div>`;
}

/** The next domains that divide these nodes: a level in which all are together is passed over. Nodes that are in none of them are rows by backend.
 * @param {MapModel} model @param {number} index -1: the whole cluster @param {MapNode[]} nodes @returns {DomainRow[]} */
function childrenOf(model, index, nodes) {
  const children = model.domains.map((domain, place) => ({ domain, place })).filter(({ domain }) => domain.parent === index);
  const others = nodes.filter((node) => node.domain === index);
  if (!children.length && index >= 0) return [];
  if (children.length === 1 && !others.length) return childrenOf(model, children[0].place, nodes);
  const backends = [...new Set(others.map((node) => node.backend))];
  return [
    ...children.map(({ domain, place }) => summary(domain.name, model.levels[domain.level], nodes.filter((node) => isIn(model, node.domain, place)))),
    ...(children.length ? backends.map((backend) => summary(model.backends[backend], "backend", others.filter((node) => node.backend === backend))) : []),
  ];
}

/** @param {MapModel} model @param {number} domain @param {number} outer @returns {boolean} */
const isIn = (model, domain, outer) => domain >= 0 && (domain === outer || isIn(model, model.domains[domain].parent, outer));

/** @param {string} name @param {string} level @param {MapNode[]} nodes @returns {DomainRow} */
function summary(name, level, nodes) {
  const gpus = nodes.reduce((sum, node) => sum + node.gpus, 0);
  const used = nodes.reduce((sum, node) => sum + node.gpus * node.use, 0);
  const cpu = nodes.reduce((sum, node) => sum + node.cpu, 0) / Math.max(1, nodes.length);
  return { name, level, nodes, gpus, used, use: gpus ? used / gpus : cpu, trouble: nodes.filter((node) => node.health > 0).length };
}
