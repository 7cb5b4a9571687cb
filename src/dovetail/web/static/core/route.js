/** The address of a page: path, what it names, and a query that holds everything the page remembers. */

/** @typedef {{path: string, page: string, rest: string[], query: URLSearchParams}} Route */

/** @param {Location | URL} [from] @returns {Route} */
export function routeOf(from = location) {
  const parts = from.pathname.split("/").slice(1).map(decodeURIComponent);
  return { path: from.pathname, page: `/${parts[0]}`, rest: parts.slice(1).filter(Boolean), query: new URLSearchParams(from.search) };
}

/** @type {() => void} */
let onChange = () => {};
/** @param {() => void} listener */
export function whenRouteChanges(listener) {
  onChange = listener;
  addEventListener("popstate", () => onChange());
}

/** @param {string} url */
export function go(url) {
  history.pushState(null, "", url);
  onChange();
}

/** Change what the query holds, without a new entry in the history of the browser; null removes.
 * @param {Record<string, string | number | null | undefined>} changes @param {{push?: boolean}} [how] */
export function setQuery(changes, { push = false } = {}) {
  history[push ? "pushState" : "replaceState"](null, "", hereWith(changes));
  onChange();
}

/** The address of this page with another query: a link to one row of a list keeps how the list is sorted, searched and paged.
 * @param {Record<string, string | number | null | undefined>} changes */
export function hereWith(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}

/** Where things are shown. */
export const pageOf = {
  /** @param {string} namespace @param {string} name */
  workload: (namespace, name) => `/workload/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
  /** @param {string} name */
  node: (name) => `/node/${encodeURIComponent(name)}`,
  /** @param {string} name */
  queue: (name) => `/queues?queue=${encodeURIComponent(name)}`,
  /** @param {string} name */
  backend: (name) => `/backends?name=${encodeURIComponent(name)}`,
};
