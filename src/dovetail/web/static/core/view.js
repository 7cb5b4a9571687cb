/** The view helper: templates whose text is always escaped, and lists that keep their elements. */
export { html, svg, render, nothing } from "../vendor/lit-html.js";
export { repeat } from "../vendor/directives/repeat.js";
export { live } from "../vendor/directives/live.js";

/** @typedef {import("../vendor/lit-html.js").Rendered} Rendered what a template or a list of templates is */
