/** What a page is: how it gets its data, when it gets them again, and how they look. The frame does the rest. */

/** @typedef {import("./route.js").Route} Route */
/** @typedef {import("./live.js").LiveEvent} LiveEvent */
/** @typedef {import("./view.js").Rendered} Rendered */

/**
 * @typedef {object} Context
 * @property {Route} route
 * @property {AbortSignal} signal ends when the visitor leaves the page
 * @property {() => void} reload get the data again now
 * @property {() => void} redraw draw again with the data that are there
 */

/**
 * @template Data
 * @typedef {object} Page
 * @property {(route: Route, data?: Data) => string} title
 * @property {(context: Context) => Promise<Data>} load everything that the page shows; called again when something has changed
 * @property {(data: Data, context: Context) => Rendered} view draws; keeps nothing that the address does not hold
 * @property {(event: LiveEvent, route: Route) => boolean} [follows] whether this event changes what the page shows; none if it is left out
 * @property {number} [everyS] get the data again this often, too, while the page is visible
 * @property {number} [atMostEveryMs] and never more often than this; 1000
 * @property {(context: Context) => (() => void)} [begin] something that lives as long as the page is open; returns what ends it
 */

/** @template Data @param {Page<Data>} page @returns {Page<Data>} */
export const definePage = (page) => page;
